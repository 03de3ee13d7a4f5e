#include "braid/config/section.h"

#include <algorithm>

#include "braid/config/fields.h"
#include "braid/config/map_fields.h"
#include "braid/config/value_types.h"

namespace braid::config {

const Option* find_option(const Options& options, std::string_view name) {
  auto at = std::ranges::find(options, name, &Option::name);
  return at == options.end() ? nullptr : &*at;
}

Limits& Limits::min(double bound) {
  section_.limit({Limit::Kind::kMin, bound});
  return *this;
}

Limits& Limits::max(double bound) {
  section_.limit({Limit::Kind::kMax, bound});
  return *this;
}

Limits& Limits::above(double bound) {
  section_.limit({Limit::Kind::kAbove, bound});
  return *this;
}

Limits& Limits::below(double bound) {
  section_.limit({Limit::Kind::kBelow, bound});
  return *this;
}

bool Limit::allows(double number) const {
  switch (kind) {
    case Kind::kMin: return number >= bound;
    case Kind::kMax: return number <= bound;
    case Kind::kAbove: return number > bound;
    case Kind::kBelow: return number < bound;
  }
  return false;
}

std::string Limit::text() const {
  switch (kind) {
    case Kind::kMin: return fmt::format("at least {}", bound);
    case Kind::kMax: return fmt::format("at most {}", bound);
    case Kind::kAbove: return fmt::format("above {}", bound);
    case Kind::kBelow: return fmt::format("below {}", bound);
  }
  return "";
}

Limits Section::whole(Name name, int64_t& v, Meaning meaning) {
  value(with_numbers(one_field(name, whole_type(), v, meaning), v));
  return Limits(*this);
}

Limits Section::whole(Name name, std::optional<int64_t>& v, Meaning meaning) {
  value(with_numbers(optional_field(name, whole_type(), v, meaning), v));
  return Limits(*this);
}

Limits Section::number(Name name, double& v, Meaning meaning) {
  value(with_numbers(one_field(name, number_type(), v, meaning), v));
  return Limits(*this);
}

Limits Section::number(Name name, std::optional<double>& v, Meaning meaning) {
  value(with_numbers(optional_field(name, number_type(), v, meaning), v));
  return Limits(*this);
}

Limits Section::bytes(Name name, int64_t& v, Meaning meaning) {
  value(with_numbers(one_field(name, bytes_type(), v, meaning), v));
  return Limits(*this);
}

Limits Section::bytes(Name name, std::optional<int64_t>& v, Meaning meaning) {
  value(with_numbers(optional_field(name, bytes_type(), v, meaning), v));
  return Limits(*this);
}

void Section::flag(Name name, bool& v, Meaning meaning) {
  value(one_field(name, flag_type(), v, meaning));
}

void Section::flag(Name name, std::optional<bool>& v, Meaning meaning) {
  value(optional_field(name, flag_type(), v, meaning));
}

void Section::text(Name name, std::string& v, Meaning meaning) {
  value(one_field(name, text_type(), v, meaning));
}

void Section::path(Name name, std::filesystem::path& v, Meaning meaning) {
  value(one_field(name, path_type(), v, meaning));
}

void Section::choice(Name name, std::string& v,
                     const std::vector<std::string>& allowed, Meaning meaning) {
  value(one_field(name, choice_type(allowed), v, meaning));
}

void Section::call(Name name, std::string& v, const CallForm& form,
                   Meaning meaning) {
  value(call_field(name, v, form, meaning));
}

void Section::texts(Name name, std::vector<std::string>& v, Meaning meaning) {
  value(list_field(name, text_type(), v, meaning));
}

Limits Section::wholes(Name name, std::vector<int64_t>& v, Meaning meaning) {
  value(with_numbers(list_field(name, whole_type(), v, meaning), v));
  return Limits(*this);
}

Limits Section::numbers(Name name, std::vector<double>& v, Meaning meaning) {
  value(with_numbers(list_field(name, number_type(), v, meaning), v));
  return Limits(*this);
}

void Section::texts_by_name(Name name, std::map<std::string, std::string>& v,
                            Meaning meaning) {
  value(names_field(name, v, meaning));
}

void Section::options(Name name, Options& v, Name what, Meaning meaning) {
  group({name, meaning, typeid(void),
         [&](Section& s) { s.rest(v, what, meaning); }});
}

}  // namespace braid::config
