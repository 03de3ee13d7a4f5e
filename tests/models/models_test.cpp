#include "braid/models/models.h"

#include <gtest/gtest.h>

#include <set>

#include "braid/graph/text.h"
#include "braid/graph/verify.h"
#include "braid/passes/names.h"
#include "braid/passes/rewrite/segments.h"
#include "op_table.h"
#include "passes/model_steps.h"
#include "thrown.h"

namespace braid::models {
namespace {

using Names = std::vector<std::string>;

Graph build(const std::string& text, DType dtype = DType::kFloat32) {
  Graph graph = build_model(table(), text, dtype);
  verify(graph);
  return graph;
}

std::string problem_of(const std::string& text, const Sizes& sizes = {}) {
  return thrown_by([&] { build_model(table(), text, DType::kFloat32, sizes); });
}

// What a PyTorch state dict would hold, in order of creation.
Names state_names(const Graph& graph) {
  Names names;
  for (const Slot& slot : graph.slots()) {
    if (slot.role == Role::kParameter || slot.role == Role::kBuffer) {
      names.push_back(slot.name);
    }
  }
  return names;
}

Names with(const std::string& layer, const Names& parts) {
  Names names;
  for (const std::string& part : parts) names.push_back(layer + "." + part);
  return names;
}

Names joined(const std::vector<Names>& lists) {
  Names all;
  for (const Names& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

const Names kAffine{"weight", "bias"};
const Names kBatchNorm{"weight", "bias", "running_mean", "running_var",
                       "num_batches_tracked"};

TEST(Models, BuildAtDefaultSizes) {
  for (const Model& model : all_models()) {
    SCOPED_TRACE(model.name);
    Graph graph = build(model.name);
    ValueId loss = graph.find_output("loss");
    ASSERT_NE(loss, kNone);
    EXPECT_EQ(graph.value(loss).type, (ValueType{DType::kFloat32, {}}));
    EXPECT_FALSE(model.summary.empty());
    EXPECT_TRUE(is_model(model.name));
    for (ValueId input : graph.inputs()) {
      const std::string& name = graph.value(input).name;
      if (name == passes::kMicroInput) continue;
      EXPECT_NE(model.inputs.find(name + "["), std::string::npos) << name;
    }
    for (const Size& size : model.sizes) EXPECT_FALSE(size.meaning.empty());
  }
}

TEST(Models, SignaturesReadBack) {
  for (const Model& model : all_models()) {
    EXPECT_EQ(print_graph(build(signature_text(model))),
              print_graph(build(model.name)));
  }
}

// Numbers that papers and libraries give, at default sizes.
TEST(Models, ParameterCountsAreThePublishedOnes) {
  const std::pair<const char*, int64_t> rows[] = {
      {"resnet18", 11'689'512},
      {"resnet50", 25'557'032},
      {"mobilenet_v3_large", 5'483'032},
      {"vit", 86'567'656},
      {"vit(patch=32,width=1024,heads=16,layers=24)", 306'535'400},
      {"bert", 109'514'298},
      {"gpt2", 124'439'808},
      {"gpt2(width=1024,heads=16,layers=24)", 354'823'168},
      {"dcgan_generator", 3'576'704},
      {"dcgan_discriminator", 2'765'568}};
  for (auto [name, count] : rows) {
    Graph graph = build(name);
    int64_t sum = 0;
    for (const Slot& slot : graph.slots()) {
      if (slot.role == Role::kParameter) sum += num_elements(slot.shape);
    }
    EXPECT_EQ(sum, count) << name;
  }
}

TEST(Models, DropoutBeginsAsInThePapers) {
  auto rate = [](const char* model, const char* slot) {
    Graph graph = build(model);
    SlotId id = graph.find_slot(std::string("hyper/") + slot + ".p");
    return id == kNone ? -1 : graph.slot(id).init.a;
  };
  EXPECT_EQ(rate("mobilenet_v3_large", "classifier.2"), 0.2);
  EXPECT_EQ(rate("pointnet_cls", "dropout"), 0.3);
  EXPECT_EQ(rate("vit", "encoder.dropout"), 0.1);
  EXPECT_EQ(rate("vit", "encoder.layers.encoder_layer_3.self_attention"), -1);
  EXPECT_EQ(rate("transformer_lm", "layers.5.self_attn"), 0.1);
  EXPECT_EQ(rate("bert", "bert.encoder.layer.11.attention.self"), 0.1);
  EXPECT_EQ(rate("gpt2", "transformer.h.0.attn"), 0.1);
  EXPECT_EQ(rate("lstm_lm", "rnn"), 0.5);
}

TEST(Models, BuildAtOddSizesInBothFloats) {
  for (const char* text :
       {"mlp(batch=1,features=1,hidden=1,layers=1,classes=1)",
        "mlp(batch=3,layers=7,dropout=0.9)", "lenet(batch=1,side=13)",
        "lenet(channels=3,side=31,classes=2,dropout=0.5)",
        "resblock(batch=1,channels=1,side=3,blocks=1,classes=1,dropout=0.1)",
        "transformer(batch=1,length=1,vocab=1,width=1,heads=1,layers=1)",
        "transformer(batch=3,length=7,vocab=11,width=15,heads=5,layers=3,"
        "dropout=0.25)"}) {
    SCOPED_TRACE(text);
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      Graph graph = build(text, dtype);
      for (const Slot& slot : graph.slots()) {
        EXPECT_TRUE(slot.role != Role::kParameter || slot.dtype == dtype);
      }
    }
  }
}

TEST(Models, SlotsAreNamedAsInPyTorch) {
  EXPECT_EQ(state_names(build("mlp")),
            joined({with("layers.0", kAffine), with("layers.1", kAffine),
                    with("head", kAffine)}));
  EXPECT_EQ(state_names(build("lenet")),
            joined({with("conv1", kAffine), with("conv2", kAffine),
                    with("fc1", kAffine), with("fc2", kAffine),
                    with("fc3", kAffine)}));
  EXPECT_EQ(state_names(build("resblock(blocks=1)")),
            joined({{"stem.weight"},
                    with("stem_bn", kBatchNorm),
                    {"blocks.0.conv1.weight"},
                    with("blocks.0.bn1", kBatchNorm),
                    {"blocks.0.conv2.weight"},
                    with("blocks.0.bn2", kBatchNorm),
                    with("head", kAffine)}));
  EXPECT_EQ(state_names(build("transformer(layers=1)")),
            joined({{"tok.weight", "pos"},
                    with("blocks.0.ln1", kAffine),
                    with("blocks.0.attn.qkv", kAffine),
                    with("blocks.0.attn.proj", kAffine),
                    with("blocks.0.ln2", kAffine),
                    with("blocks.0.fc1", kAffine),
                    with("blocks.0.fc2", kAffine),
                    with("ln", kAffine),
                    {"head.weight"}}));
}

TEST(Models, ASizeIsGivenOnce) {
  for (const char* text :
       {"mlp(hidden=8,hidden=16)", "mlp(hidden=8, hidden =8)"}) {
    try {
      build_model(standard_ops(), text, DType::kFloat32);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_STREQ(error.what(), "[model] mlp has the size 'hidden' twice");
    }
  }
}

TEST(Models, SizesReachTheSlots) {
  Graph graph = build("transformer(vocab=11,width=12,heads=3,length=5)");
  auto shape = [&](const char* name) {
    return graph.slot(graph.find_slot(name)).shape;
  };
  EXPECT_EQ(shape("tok.weight"), (Shape{11, 12}));
  EXPECT_EQ(shape("pos"), (Shape{5, 12}));
  EXPECT_EQ(shape("blocks.1.attn.qkv.weight"), (Shape{36, 12}));
  EXPECT_EQ(shape("blocks.1.fc1.weight"), (Shape{48, 12}));
  EXPECT_EQ(shape("head.weight"), (Shape{11, 12}));
}

TEST(Models, InitialValuesAreThoseOfPyTorch) {
  Graph graph = build("resblock(channels=8)");
  auto init = [&](const char* name) {
    return graph.slot(graph.find_slot(name)).init;
  };
  EXPECT_EQ(init("blocks.0.bn1.weight"), Init::constant(1));
  EXPECT_EQ(init("blocks.0.bn1.running_var"), Init::constant(1));
  EXPECT_EQ(init("blocks.0.bn1.running_mean"), Init::constant(0));
  EXPECT_EQ(init("blocks.0.conv1.weight"),
            Init::uniform(1 / std::sqrt(8.0 * 9)));
  EXPECT_EQ(init("head.bias"), Init::uniform(1 / std::sqrt(8.0)));
}

TEST(Models, ZooModelsBeginAsTheirImplementations) {
  auto init = [](const char* model, const char* name) {
    Graph graph = build(model);
    return graph.slot(graph.find_slot(name)).init;
  };
  using Kind = Init::Kind;
  const Init fan_out{Kind::kKaimingNormal, 0, 1};
  EXPECT_EQ(init("resnet18", "layer2.0.downsample.0.weight"), fan_out);
  EXPECT_EQ(init("mobilenet_v3_large", "features.4.block.2.fc1.weight"),
            fan_out);
  EXPECT_EQ(init("mobilenet_v3_large", "classifier.3.weight"),
            Init::normal(0.01));
  EXPECT_EQ(init("vit", "conv_proj.weight"),
            (Init{Kind::kTruncNormal, 0, 1 / std::sqrt(768.0), -2, 2}));
  EXPECT_EQ(init("vit", "heads.head.weight"), Init::constant(0));
  EXPECT_EQ(init("pointnet_cls", "feat.fstn.fc3.weight"), Init::constant(0));
  EXPECT_EQ(init("dcgan_generator", "main.0.weight"), Init::normal(0.02));
  EXPECT_EQ(init("dcgan_generator", "main.1.weight"),
            (Init{Kind::kNormal, 1, 0.02}));
  EXPECT_EQ(init("gpt2", "transformer.h.7.mlp.c_fc.weight"),
            Init::normal(0.02));
  EXPECT_EQ(init("gpt2", "transformer.h.7.mlp.c_proj.weight"),
            Init::normal(0.02 / std::sqrt(24.0)));
  EXPECT_EQ(init("lstm_lm", "rnn.bias_hh_l1"), Init::uniform(0.05));
}

TEST(Models, TiedTensorsAreOneSlot) {
  auto names = [](const char* model, const char* slot) {
    Graph graph = build(model);
    return graph.slot(graph.find_slot(slot)).aliases;
  };
  EXPECT_EQ(names("gpt2", "transformer.wte.weight"), Names{"lm_head.weight"});
  EXPECT_EQ(names("bert", "bert.embeddings.word_embeddings.weight"),
            Names{"cls.predictions.decoder.weight"});
  EXPECT_EQ(names("bert", "cls.predictions.bias"),
            Names{"cls.predictions.decoder.bias"});
  EXPECT_EQ(names("lstm_lm", "encoder.weight"), Names{});
  EXPECT_EQ(names("lstm_lm(tied=1)", "encoder.weight"),
            Names{"decoder.weight"});
}

TEST(Models, DropoutIsThereWhenAskedAndEachLayerDrawsItsOwn) {
  EXPECT_EQ(build("mlp").find_input(passes::kMicroInput), kNone);
  Graph graph = build("transformer(dropout=0.25)");
  EXPECT_NE(graph.find_input(passes::kMicroInput), kNone);
  std::set<uint64_t> keys;
  size_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->name != "dropout") continue;
    keys.insert(node.rng_key);
    ++count;
  }
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(keys.size(), count);
  SlotId p = graph.find_slot("hyper/blocks.0.attn.drop.p");
  ASSERT_NE(p, kNone);
  EXPECT_EQ(graph.slot(p).init, Init::constant(0.25));
  EXPECT_EQ(graph.slot(p).role, Role::kHyper);
}

TEST(Models, SegmentsAreLayers) {
  Graph graph = build("resblock(dropout=0.1)");
  EXPECT_EQ(passes::mark_segments(graph),
            (Names{"stem", "stem_bn", "blocks.0", "blocks.1", "drop", "head"}));
}

TEST(Models, SizesGivenApartWinOverText) {
  Graph graph =
      build_model(table(), "mlp(hidden=3)", DType::kFloat32, {{"hidden", 9}});
  EXPECT_EQ(graph.slot(graph.find_slot("layers.0.weight")).shape,
            (Shape{9, 16}));
}

TEST(Models, SizesMayHaveSpacesAroundThem) {
  Graph graph = build("mlp( hidden=3, classes = 5 )");
  EXPECT_EQ(graph.slot(graph.find_slot("head.weight")).shape, (Shape{5, 3}));
}

TEST(Models, TextThatIsNoneIsRefused) {
  const std::pair<const char*, const char*> rows[] = {
      {"mpl", "unknown model 'mpl'\nHINT: did you mean 'mlp'?"},
      {"", "unknown model ''"},
      {"mlp)", "unknown model 'mlp)'"},
      {"mlp(", "HINT: write mlp(name=value,...)"},
      {"mlp(hidden=3", "HINT: write mlp(name=value,...)"},
      {"mlp(hidden=3)x", "HINT: write mlp(name=value,...)"},
      {"mlp(hiden=3)", "no size 'hiden'\nHINT: did you mean 'hidden'?"},
      {"mlp(hidden)", "cannot read size 'hidden'"},
      {"mlp(hidden=)", "cannot read size 'hidden='"},
      {"mlp(dropout=)", "cannot read size 'dropout='"},
      {"mlp(dropout=1e999)", "cannot read size 'dropout=1e999'"},
      {"mlp(hidden=3x)", "cannot read size 'hidden=3x'"},
      {"mlp(,)", "cannot read size ''"},
      {"mlp(hidden=0)", "'hidden' = 0 is no size"},
      {"mlp(hidden=-1)", "'hidden' = -1 is no size"},
      {"mlp(hidden=1.5)", "'hidden' = 1.5 is no size"},
      {"mlp(hidden=nan)", "is no size"},
      {"mlp(hidden=inf)", "is no size"},
      {"mlp(hidden=1e300)", "is no size"},
      {"mlp(dropout=-0.1)", "'dropout' = -0.1 is no size"},
      {"mlp(dropout=1.5)", "'dropout' = 1.5 is no size"},
      {"mlp(dropout=nan)", "is no size"},
      {"lenet(side=4)", "[conv2d at conv2]"},
      {"transformer(width=10,heads=4)",
       "blocks.0.attn: a width of 10 cannot be cut into 4 heads"},
      {"lstm_lm(tied=2)", "'tied' = 2 is no size"},
      {"gpt2(feed=1.5)", "'feed' = 1.5 is no size"},
      {"gpt2(length=9,positions=8)", "wpe: a length of 9 is more than 8"},
      {"mobilenet_v3_large(width=-1)", "'width' = -1 is no size"},
      {"mobilenet_v3_large(width=inf)", "'width' = inf is no size"},
      {"vit(side=20)", "a side of 20 cannot be cut into patches of 16"},
      {"dcgan_generator(side=12)", "a side is 8, 16, 32 and so on, not 12"},
      {"dcgan_discriminator(side=4)", "a side is 8, 16, 32 and so on, not 4"},
      {"lstm_lm(tied=1,hidden=9)", "tied needs width 650 and hidden 9 equal"}};
  for (auto [text, problem] : rows) {
    EXPECT_NE(problem_of(text).find(problem), std::string::npos)
        << text << ": " << problem_of(text);
  }
  EXPECT_NE(problem_of("mlp", {{"hidden", 2.5}}), "");
  EXPECT_EQ(problem_of("mlp()"), "");
  EXPECT_FALSE(is_model("mlp2(hidden=3)"));
  EXPECT_TRUE(is_model("mlp(hidden=3)"));
}

}  // namespace
}  // namespace braid::models
