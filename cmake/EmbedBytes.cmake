# Writes the bytes of INPUT as the array NAME (and NAMESize) of namespace
# NAMESPACE into the C++ file OUTPUT. Run with cmake -P, so that the build needs
# no other tool.
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUTPUT}" "// Made by cmake/EmbedBytes.cmake.
namespace ${NAMESPACE} {
extern const unsigned char ${NAME}[];
extern const unsigned long ${NAME}Size;
alignas(16) const unsigned char ${NAME}[] = {
${bytes}};
const unsigned long ${NAME}Size = sizeof(${NAME});
} // namespace ${NAMESPACE}
")
