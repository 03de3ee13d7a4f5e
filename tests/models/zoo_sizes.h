// The models of the zoo at tiny sizes, with dropout where they have it.
#pragma once

#include <string>
#include <vector>

namespace braid {

inline const std::vector<std::string>& zoo_models() {
  static const std::vector<std::string> models = {
      "resnet18(batch=2,side=33,width=2,classes=3)",
      "resnet50(batch=2,side=33,width=2,classes=3)",
      "mobilenet_v3_large(batch=2,side=33,width=0.1,classes=3)",
      "vit(batch=2,side=8,patch=4,width=6,heads=2,layers=2,classes=3,"
      "attention_dropout=0.2)",
      "pointnet_cls(batch=3,points=5,width=2,classes=3)",
      "pointnet_seg(batch=3,points=5,width=2,classes=3)",
      "dcgan_generator(batch=2,side=16,width=2,latent=3)",
      "dcgan_discriminator(batch=2,side=16,width=2)",
      "transformer_lm(batch=2,length=5,positions=7,vocab=11,width=6,heads=2,"
      "layers=2)",
      "bert(batch=2,length=5,positions=7,vocab=11,width=6,heads=2,layers=2)",
      "gpt2(batch=2,length=5,positions=7,vocab=11,width=6,heads=2,layers=2)",
      "lstm_lm(batch=2,length=5,vocab=11,width=6,hidden=6,tied=1)"};
  return models;
}

}  // namespace braid
