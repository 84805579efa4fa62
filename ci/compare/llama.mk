# Builds llama.cpp's chat parsers with peer_llama.cpp: make -f llama.mk SOURCE=FOLDER OUT=FOLDER. The library for inference is not
# built: sections that nothing reaches are dropped, and symbols that are then still missing are left open.

HERE := $(dir $(lastword $(MAKEFILE_LIST)))
PARTS := $(wildcard $(SOURCE)/common/chat*.cpp $(SOURCE)/common/json*.cpp $(SOURCE)/common/jinja/*.cpp $(SOURCE)/common/parsers/*.cpp) \
  $(addprefix $(SOURCE)/common/,common.cpp log.cpp peg-parser.cpp trie.cpp unicode.cpp) \
  $(addprefix $(SOURCE)/tools/server/,server-common.cpp server-task.cpp)
OBJECTS := $(patsubst $(SOURCE)/%.cpp,$(OUT)/%.o,$(PARTS)) $(OUT)/peer_llama.o
FLAGS := -std=c++17 -O2 -ffunction-sections -fdata-sections
INCLUDES := $(addprefix -isystem $(SOURCE)/,common include ggml/include vendor tools/server tools/mtmd)

$(OUT)/peer-llama: $(OBJECTS)
	$(CXX) $(OBJECTS) -o $@ -no-pie -pthread -Wl,--gc-sections,--unresolved-symbols=ignore-all

$(OUT)/%.o: $(SOURCE)/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) -w $(INCLUDES) -c $< -o $@

$(OUT)/peer_llama.o: $(HERE)peer_llama.cpp
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) -Wall -Wextra $(INCLUDES) -c $< -o $@
