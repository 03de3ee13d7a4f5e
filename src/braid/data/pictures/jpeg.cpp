// libjpeg reports errors by a call that must not return, so it jumps back;
// nothing with a destructor lives between the jump and its landing.
#include <csetjmp>
#include <cstdio>
// After <cstdio>, which it needs but does not include.
#include <jerror.h>
#include <jpeglib.h>

#include <string>

#include "braid/base/error.h"
#include "braid/data/pictures/decoders.h"

namespace braid::data {
namespace {

struct Errors {
  jpeg_error_mgr manager = {};  // first, so that its address is ours
  std::jmp_buf landing = {};
  char text[JMSG_LENGTH_MAX] = {};
};

[[noreturn]] void jump_back(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  errors->manager.format_message(info, errors->text);
  std::longjmp(errors->landing, 1);
}

// A file that is cut short is only a warning to libjpeg; to us it is not.
void refuse_missing_data(j_common_ptr info, int level) {
  bool is_missing = info->err->msg_code == JWRN_HIT_MARKER ||
                    info->err->msg_code == JWRN_JPEG_EOF;
  if (level < 0 && is_missing) jump_back(info);
}

// All bytes were there from the start: who asks for more has a cut file.
boolean refuse_end(j_decompress_ptr info) {
  info->err->msg_code = JERR_INPUT_EOF;
  jump_back(reinterpret_cast<j_common_ptr>(info));
}

// A decoder that is destroyed on every way out.
struct Decoder {
  Decoder() {
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = jump_back;
    errors.manager.emit_message = refuse_missing_data;
  }
  ~Decoder() { jpeg_destroy_decompress(&info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  Errors errors;
  jpeg_decompress_struct info = {};
};

bool begin(Decoder& decoder, const unsigned char* data, unsigned long bytes) {
  if (setjmp(decoder.errors.landing) != 0) return false;
  jpeg_create_decompress(&decoder.info);
  jpeg_mem_src(&decoder.info, data, bytes);
  decoder.info.src->fill_input_buffer = refuse_end;
  jpeg_read_header(&decoder.info, TRUE);
  return true;
}

// A progressive file needs memory for all of its claimed size at once: more
// than its bytes can account for is refused.
bool start_rows(Decoder& decoder, size_t file_bytes) {
  if (setjmp(decoder.errors.landing) != 0) return false;
  decoder.info.mem->max_memory_to_use =
      static_cast<long>((size_t{1} << 26) + 2000 * file_bytes);
  decoder.info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&decoder.info);
  return true;
}

bool read_row(Decoder& decoder, unsigned char* row) {
  if (setjmp(decoder.errors.landing) != 0) return false;
  jpeg_read_scanlines(&decoder.info, &row, 1);
  return true;
}

[[noreturn]] void fail_jpeg(const Decoder& decoder, std::string_view name) {
  fail_world("[data.images] cannot decode JPEG '{}': {}", name,
             decoder.errors.text);
}

}  // namespace

// Room grows with the rows that are there, not with those that are claimed.
Picture decode_jpeg(io::Bytes file, std::string_view name) {
  Decoder decoder;
  const auto* data = reinterpret_cast<const unsigned char*>(file.data());
  if (!begin(decoder, data, file.size())) fail_jpeg(decoder, name);
  Picture picture{decoder.info.image_height, decoder.info.image_width, {}};
  check_picture_size(picture.height, picture.width, name);
  if (!start_rows(decoder, file.size())) fail_jpeg(decoder, name);
  auto row_bytes = static_cast<size_t>(3 * picture.width);
  for (int64_t y = 0; y < picture.height; ++y) {
    picture.rgb.resize(picture.rgb.size() + row_bytes);
    unsigned char* row = picture.rgb.data() + picture.rgb.size() - row_bytes;
    if (!read_row(decoder, row)) fail_jpeg(decoder, name);
  }
  return picture;
}

}  // namespace braid::data
