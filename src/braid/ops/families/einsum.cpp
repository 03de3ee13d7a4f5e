// Einstein sums: an equation such as "b i d, b j d -> b i j" becomes
// permutations, sums and matrix products, operands taken from left to right.
// A label is a letter; dimensions under "..." get labels of their own.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>

#include "braid/base/error.h"
#include "braid/ops/build/functions.h"

namespace braid {
namespace {

constexpr int kEllipsis = 256;  // the i-th dimension under "..." from the end

using Labels = std::vector<int>;

// One operand or intermediate result: dimension i is called labels[i].
struct Term {
  Var x;
  Labels labels;
};

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

size_t place_of(const Labels& labels, int label) {
  return static_cast<size_t>(std::find(labels.begin(), labels.end(), label) -
                             labels.begin());
}

std::string without_spaces(std::string_view text) {
  std::string packed(text);
  std::erase_if(packed, [](unsigned char c) { return std::isspace(c) != 0; });
  return packed;
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Labels of one side; "..." stands for `dotted` dimensions.
Labels read_labels(const std::string& text, int64_t dotted) {
  Labels labels;
  bool dots = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0 && !dots) {
      for (int64_t d = dotted; d-- > 0;) {
        labels.push_back(kEllipsis + static_cast<int>(d));
      }
      dots = true;
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      labels.push_back(text[i]);
    } else {
      fail_usage("[einsum] '{}' is no list of letters", text);
    }
  }
  return labels;
}

// Labels of an operand of the given rank.
Labels operand_labels(const std::string& text, int64_t rank) {
  bool dots = text.find("...") != std::string::npos;
  auto letters = static_cast<int64_t>(text.size()) - (dots ? 3 : 0);
  if (letters > rank || (!dots && letters < rank)) {
    fail_usage("[einsum] '{}' does not name {} dimensions", text, rank);
  }
  return read_labels(text, rank - letters);
}

// Without "->": dimensions under "..." first, then letters seen once.
Labels implied_output(const std::vector<Term>& terms) {
  std::map<int, int> seen;
  for (const Term& t : terms) {
    for (int label : t.labels) ++seen[label];
  }
  Labels dotted, letters;
  for (auto [label, count] : seen) {
    if (label >= kEllipsis) dotted.insert(dotted.begin(), label);
    if (label < kEllipsis && count == 1) letters.push_back(label);
  }
  dotted.insert(dotted.end(), letters.begin(), letters.end());
  return dotted;
}

Var permuted(const Term& t, const Labels& order) {
  Ints dims;
  for (int label : order) {
    dims.push_back(static_cast<int64_t>(place_of(t.labels, label)));
  }
  return permute(t.x, dims);
}

// The entries where dimensions i < j agree: both last as one of n * n, of
// which every (n + 1)-th is taken.
Var diagonal(Var x, size_t i, size_t j) {
  int64_t n = x.dim(static_cast<int64_t>(i));
  if (n != x.dim(static_cast<int64_t>(j))) {
    fail_usage("[einsum] a repeated letter has sizes {} and {}", n,
               x.dim(static_cast<int64_t>(j)));
  }
  Ints order;
  Shape shape;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d == static_cast<int64_t>(i) || d == static_cast<int64_t>(j)) continue;
    order.push_back(d);
    shape.push_back(x.dim(d));
  }
  order.push_back(static_cast<int64_t>(i));
  order.push_back(static_cast<int64_t>(j));
  shape.push_back(n * n);
  return slice(reshape(permute(x, order), shape), -1, 0, n * n, n + 1);
}

// Letters that stand twice in one operand take the diagonal.
Term without_repeats(Term t) {
  for (size_t j = 1; j < t.labels.size();) {
    size_t i = place_of(t.labels, t.labels[j]);
    if (i == j) {
      ++j;
      continue;
    }
    int label = t.labels[j];
    t.x = diagonal(t.x, i, j);
    t.labels.erase(t.labels.begin() + static_cast<int64_t>(j));
    t.labels.erase(t.labels.begin() + static_cast<int64_t>(i));
    t.labels.push_back(label);
    j = 1;
  }
  return t;
}

Term summed(Term t, const Labels& gone) {
  if (gone.empty()) return t;
  Ints dims;
  for (int label : gone) {
    dims.push_back(static_cast<int64_t>(place_of(t.labels, label)));
  }
  t.x = sum(t.x, dims);
  for (int label : gone) std::erase(t.labels, label);
  return t;
}

// Sums what neither the other operand nor anything later asks for.
Term sum_unused(Term t, const Labels& other, const std::set<int>& kept) {
  Labels gone;
  for (int label : t.labels) {
    if (!contains(other, label) && !kept.contains(label)) {
      gone.push_back(label);
    }
  }
  return summed(std::move(t), gone);
}

int64_t size_of(const Term& t, int label) {
  return t.x.dim(static_cast<int64_t>(place_of(t.labels, label)));
}

// A size of 1 that meets another size broadcasts: it is dropped.
Term without_ones(const Term& t, const Term& other) {
  Shape shape;
  Labels labels;
  for (int label : t.labels) {
    int64_t size = size_of(t, label);
    if (contains(other.labels, label)) {
      int64_t meets = size_of(other, label);
      if (size == 1 && meets != 1) continue;
      if (size != meets && meets != 1) {
        fail_usage("[einsum] one letter has sizes {} and {}", size, meets);
      }
    }
    shape.push_back(size);
    labels.push_back(label);
  }
  return {reshape(t.x, shape), labels};
}

Shape sizes_of(const Term& t, const Labels& labels) {
  Shape shape;
  for (int label : labels) shape.push_back(size_of(t, label));
  return shape;
}

Labels joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Roles {
  Labels batch, left, right, inner;
};

Roles roles_of(const Term& a, const Term& b, const std::set<int>& kept) {
  Roles r;
  for (int label : a.labels) {
    if (!contains(b.labels, label)) {
      r.left.push_back(label);
    } else {
      (kept.contains(label) ? r.batch : r.inner).push_back(label);
    }
  }
  for (int label : b.labels) {
    if (!contains(a.labels, label)) r.right.push_back(label);
  }
  return r;
}

// Nothing is summed: a broadcast product.
Term spread_product(const Term& a, const Term& b, const Roles& r) {
  Labels labels = joined(joined(r.batch, r.left), r.right);
  Shape left = sizes_of(a, joined(r.batch, r.left));
  left.insert(left.end(), r.right.size(), 1);
  Shape right = sizes_of(b, r.batch), columns = sizes_of(b, r.right);
  right.insert(right.end(), r.left.size(), 1);
  right.insert(right.end(), columns.begin(), columns.end());
  Var x = reshape(permuted(a, joined(r.batch, r.left)), left);
  Var y = reshape(permuted(b, joined(r.batch, r.right)), right);
  return {mul(x, y), labels};
}

Term contracted(const Term& a, const Term& b, const Roles& r) {
  Shape batch = sizes_of(a, r.batch), left = sizes_of(a, r.left);
  Shape right = sizes_of(b, r.right), inner = sizes_of(a, r.inner);
  int64_t n = num_elements(inner), rows = num_elements(left);
  int64_t columns = num_elements(right), sets = num_elements(batch);
  Shape shape_a{rows, n}, shape_b{n, columns};
  if (!batch.empty()) {
    shape_a.insert(shape_a.begin(), sets);
    shape_b.insert(shape_b.begin(), sets);
  }
  Var x = permuted(a, joined(joined(r.batch, r.left), r.inner));
  Var y = permuted(b, joined(joined(r.batch, r.inner), r.right));
  Var z = matmul(reshape(x, shape_a), reshape(y, shape_b));
  Shape shape = batch;
  shape.insert(shape.end(), left.begin(), left.end());
  shape.insert(shape.end(), right.begin(), right.end());
  return {reshape(z, shape), joined(joined(r.batch, r.left), r.right)};
}

// Product of two terms, summed over what nobody asks for afterwards.
Term product(const Term& a, const Term& b, const std::set<int>& kept) {
  Term left = without_ones(a, b), right = without_ones(b, a);
  left = sum_unused(left, right.labels, kept);
  right = sum_unused(right, left.labels, kept);
  Roles roles = roles_of(left, right, kept);
  return roles.inner.empty() ? spread_product(left, right, roles)
                             : contracted(left, right, roles);
}

// Labels of the output and of the terms from `first` on.
std::set<int> labels_after(const std::vector<Term>& terms, size_t first,
                           const Labels& output) {
  std::set<int> kept(output.begin(), output.end());
  for (size_t i = first; i < terms.size(); ++i) {
    kept.insert(terms[i].labels.begin(), terms[i].labels.end());
  }
  return kept;
}

void check_output(const Labels& output, const std::vector<Term>& terms,
                  std::string_view equation) {
  std::set<int> known = labels_after(terms, 0, {});
  for (int label : output) {
    if (!known.contains(label) ||
        std::count(output.begin(), output.end(), label) > 1) {
      fail_usage(
          "[einsum] the result of '{}' names a dimension twice or one "
          "that no operand has",
          equation);
    }
  }
}

int64_t most_dotted(const std::vector<Term>& terms) {
  int most = 0;
  for (const Term& t : terms) {
    for (int label : t.labels) most = std::max(most, label - kEllipsis + 1);
  }
  return most;
}

std::vector<Term> read_terms(const std::string& text,
                             const std::vector<Var>& operands) {
  std::vector<std::string> parts = split_commas(text);
  if (parts.size() != operands.size()) {
    fail_usage("[einsum] '{}' is for {} operands, got {}", text, parts.size(),
               operands.size());
  }
  std::vector<Term> terms;
  for (size_t i = 0; i < operands.size(); ++i) {
    Labels labels = operand_labels(parts[i], operands[i].rank());
    terms.push_back({operands[i], labels});
  }
  return terms;
}

}  // namespace

Var einsum(std::string_view equation, const std::vector<Var>& operands) {
  std::string text = without_spaces(equation);
  size_t arrow = text.find("->");
  std::vector<Term> terms = read_terms(text.substr(0, arrow), operands);
  Labels output = arrow == std::string::npos
                      ? implied_output(terms)
                      : read_labels(text.substr(arrow + 2), most_dotted(terms));
  check_output(output, terms, equation);
  for (Term& t : terms) t = without_repeats(std::move(t));
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    result = product(result, terms[i], labels_after(terms, i + 1, output));
  }
  result = sum_unused(result, output, {});
  return permuted(result, output);
}

}  // namespace braid
