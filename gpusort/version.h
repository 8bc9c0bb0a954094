// The version of gpusort. CMakeLists.txt reads the three numbers from this file; there is no other copy.
#pragma once

#define GPUSORT_VERSION_MAJOR 0
#define GPUSORT_VERSION_MINOR 1
#define GPUSORT_VERSION_PATCH 0
