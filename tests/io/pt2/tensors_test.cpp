// Writes through views. A Var stands here for a list of numbers, so that the
// tests compare what PyTorch would print.
#include "braid/io/pt2/tensors.h"

#include <algorithm>

#include "io/scratch.h"

namespace braid::io::pt2 {
namespace {

using List = std::vector<int>;

// The lists behind the Vars of a test, and views of them.
class Lists {
 public:
  Var var(List list) {
    lists_.push_back(std::move(list));
    return {nullptr, static_cast<ValueId>(lists_.size()) - 1};
  }
  const List& at(Var v) const { return lists_.at(static_cast<size_t>(v.id)); }

  // x[begin:end:step]
  ViewStep slice(size_t begin, size_t end, size_t step = 1) {
    return {[=, this](Var base) {
              ++num_taken;
              List part;
              for (size_t i = begin; i < end; i += step) {
                part.push_back(at(base).at(i));
              }
              return var(part);
            },
            [=, this](Var base, Var view) {
              List whole = at(base);
              size_t next = 0;
              for (size_t i = begin; i < end; i += step) {
                whole.at(i) = at(view).at(next++);
              }
              return var(whole);
            }};
  }
  ViewStep select(size_t i) { return slice(i, i + 1); }
  // A permutation of the elements.
  ViewStep permute(const std::vector<size_t>& order) {
    return {[=, this](Var base) {
              List out;
              for (size_t i : order) out.push_back(at(base).at(i));
              return var(out);
            },
            [=, this](Var base, Var view) {
              List out = at(base);
              for (size_t i = 0; i < order.size(); ++i) {
                out.at(order[i]) = at(view).at(i);
              }
              return var(out);
            }};
  }
  // Another shape of the same elements.
  ViewStep reshape() {
    return {[this](Var base) { return var(at(base)); },
            [this](Var, Var view) { return var(at(view)); }};
  }
  // Twice the elements, which cannot be written.
  ViewStep expand() {
    return {[this](Var base) {
      List out = at(base);
      out.insert(out.end(), at(base).begin(), at(base).end());
      return var(out);
    }};
  }

  int num_taken = 0;

 private:
  std::vector<List> lists_;
};

class Pt2Tensors : public testing::Test {
 protected:
  List read(TensorId id) { return lists.at(tensors.read(id)); }
  void write(TensorId id, List list) {
    tensors.write(id, lists.var(std::move(list)));
  }

  Lists lists;
  Tensors tensors;
};

TEST_F(Pt2Tensors, a_write_to_the_base_is_seen_by_its_views) {
  TensorId base = tensors.add(lists.var({1, 2, 3, 4}));
  TensorId row = tensors.add_view(base, lists.slice(0, 2));
  EXPECT_EQ(read(row), (List{1, 2}));
  write(base, {5, 6, 7, 8});
  EXPECT_EQ(read(base), (List{5, 6, 7, 8}));
  EXPECT_EQ(read(row), (List{5, 6}));
}

TEST_F(Pt2Tensors, a_write_through_a_view_is_seen_by_base_and_other_views) {
  TensorId base = tensors.add(lists.var({1, 2, 3, 4}));
  TensorId item = tensors.add_view(base, lists.select(2));
  TensorId odd = tensors.add_view(base, lists.slice(0, 4, 2));
  TensorId turned = tensors.add_view(base, lists.permute({3, 1, 2, 0}));
  TensorId flat = tensors.add_view(base, lists.reshape());
  write(item, {30});
  EXPECT_EQ(read(item), (List{30}));
  EXPECT_EQ(read(base), (List{1, 2, 30, 4}));
  EXPECT_EQ(read(odd), (List{1, 30}));
  EXPECT_EQ(read(turned), (List{4, 2, 30, 1}));
  EXPECT_EQ(read(flat), (List{1, 2, 30, 4}));
  write(turned, {40, 20, 31, 10});
  EXPECT_EQ(read(base), (List{10, 20, 31, 40}));
  EXPECT_EQ(read(item), (List{31}));
  write(flat, {6, 7, 8, 9});
  EXPECT_EQ(read(odd), (List{6, 8}));
  EXPECT_EQ(read(turned), (List{9, 7, 8, 6}));
}

TEST_F(Pt2Tensors, writes_go_through_views_of_views) {
  TensorId base = tensors.add(lists.var({1, 2, 3, 4, 5, 6}));
  TensorId flat = tensors.add_view(base, lists.reshape());
  TensorId tail = tensors.add_view(flat, lists.slice(2, 6));
  TensorId every = tensors.add_view(tail, lists.slice(1, 4, 2));
  EXPECT_EQ(read(every), (List{4, 6}));
  write(every, {40, 60});
  EXPECT_EQ(read(tail), (List{3, 40, 5, 60}));
  EXPECT_EQ(read(flat), (List{1, 2, 3, 40, 5, 60}));
  EXPECT_EQ(read(base), (List{1, 2, 3, 40, 5, 60}));
  write(base, {0, 0, 0, 7, 0, 9});
  EXPECT_EQ(read(every), (List{7, 9}));
}

TEST_F(Pt2Tensors, a_view_made_after_a_write_has_the_new_content) {
  TensorId base = tensors.add(lists.var({1, 2}));
  TensorId early = tensors.add_view(base, lists.select(0));
  write(base, {3, 4});
  TensorId late = tensors.add_view(early, lists.reshape());
  EXPECT_EQ(read(late), (List{3}));
  write(late, {5});
  EXPECT_EQ(read(base), (List{5, 4}));
  EXPECT_EQ(read(early), (List{5}));
}

TEST_F(Pt2Tensors, a_view_is_made_anew_only_after_a_write) {
  TensorId base = tensors.add(lists.var({1, 2}));
  TensorId view = tensors.add_view(base, lists.select(0));
  for (int i = 0; i < 3; ++i) read(view);
  EXPECT_EQ(lists.num_taken, 1);
  write(base, {3, 4});
  for (int i = 0; i < 3; ++i) read(view);
  EXPECT_EQ(lists.num_taken, 2);
  write(view, {5});
  EXPECT_EQ(read(view), (List{5}));
  EXPECT_EQ(lists.num_taken, 2);
}

TEST_F(Pt2Tensors, a_view_that_cannot_be_written_refuses_and_changes_nothing) {
  TensorId base = tensors.add(lists.var({1, 2}));
  TensorId wide = tensors.add_view(base, lists.expand());
  TensorId part = tensors.add_view(wide, lists.slice(0, 2));
  for (TensorId id : {wide, part}) {
    expect_contains(error_of<std::invalid_argument>([&] {
                      write(id, {9, 9, 9, 9});
                    }),
                    "a write through this kind of view is not supported");
  }
  EXPECT_EQ(read(base), (List{1, 2}));
  EXPECT_FALSE(tensors.is_written(base));
  write(base, {3, 4});
  EXPECT_EQ(read(wide), (List{3, 4, 3, 4}));
  EXPECT_EQ(read(part), (List{3, 4}));
}

TEST_F(Pt2Tensors, knows_which_memory_was_written) {
  TensorId a = tensors.add(lists.var({1, 2}));
  TensorId b = tensors.add(lists.var({1, 2}));
  TensorId of_a = tensors.add_view(a, lists.select(0));
  TensorId other_of_a = tensors.add_view(a, lists.select(1));
  for (TensorId id : {a, b, of_a, other_of_a}) {
    EXPECT_FALSE(tensors.is_written(id));
  }
  write(of_a, {7});
  for (TensorId id : {a, of_a, other_of_a}) {
    EXPECT_TRUE(tensors.is_written(id));
  }
  EXPECT_FALSE(tensors.is_written(b));
  EXPECT_EQ(read(b), (List{1, 2}));
}

}  // namespace
}  // namespace braid::io::pt2
