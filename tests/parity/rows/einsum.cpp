#include "../row.h"
#include "braid/ops/build/functions.h"

namespace braid::parity {
namespace {

Row einsum_row(const std::string& equation, std::vector<Shape> shapes) {
  Row row{
      .op = "matmul",
      .args = {},
      .attrs = {},
      .reference = [=](const Tensors& t) { return at::einsum(equation, t); },
      .build = [=](const std::vector<Var>& v) { return einsum(equation, v); },
      .note = "einsum " + equation};
  for (Shape& shape : shapes) row.args.push_back({std::move(shape)});
  return row;
}

}  // namespace

// Equations of real models (attention, graph convolutions, state space
// models, mixtures) and the corners of the notation.
std::vector<Row> einsum_rows() {
  return {
      einsum_row("b h i d, b h j d -> b h i j", {{2, 2, 3, 4}, {2, 2, 5, 4}}),
      einsum_row("bhij,bhjd->bhid", {{2, 2, 3, 4}, {2, 2, 4, 5}}),
      einsum_row("blhe,bshe->bhls", {{2, 3, 2, 4}, {2, 5, 2, 4}}),
      einsum_row("bhls,bshd->blhd", {{2, 2, 3, 5}, {2, 5, 2, 4}}),
      einsum_row("bind,bjnd->bnij", {{2, 3, 2, 4}, {2, 5, 2, 4}}),
      einsum_row("ibnd,jbnd->ijbn", {{3, 2, 2, 4}, {5, 2, 2, 4}}),
      einsum_row("ijbn,jbnd->ibnd", {{3, 5, 2, 2}, {5, 2, 2, 4}}),
      einsum_row("ibnd,snd->ibns", {{3, 2, 2, 4}, {2, 2, 4}}),
      einsum_row("ijbs,ibns->bnij", {{3, 4, 2, 2}, {3, 2, 5, 2}}),
      einsum_row("ibh,hnd->ibnd", {{3, 2, 6}, {6, 2, 4}}),
      einsum_row("ncvl,vw->ncwl", {{2, 3, 4, 5}, {4, 6}}),
      einsum_row("ncvl,nvw->ncwl", {{2, 3, 4, 5}, {2, 4, 6}}),
      einsum_row("nkctv,kvw->nctw", {{2, 2, 3, 4, 5}, {2, 5, 5}}),
      einsum_row("bqc,bchw->bqhw", {{2, 3, 4}, {2, 4, 2, 3}}),
      einsum_row("bhwc,hkc->bhwk", {{2, 3, 4, 5}, {3, 4, 5}}),
      einsum_row("bhwc,wkc->bhwk", {{2, 3, 4, 5}, {4, 3, 5}}),
      einsum_row("bldn,bln->bld", {{2, 3, 4, 5}, {2, 3, 5}}),
      einsum_row("bld,dn->bldn", {{2, 3, 4}, {4, 5}}),
      einsum_row("bld,bln,bld->bldn", {{2, 3, 4}, {2, 3, 5}, {2, 3, 4}}),
      einsum_row(
          "bclhn,bcshn,bhcls,bcshp->bclhp",
          {{2, 2, 3, 2, 2}, {2, 2, 3, 2, 2}, {2, 2, 2, 3, 3}, {2, 2, 3, 2, 4}}),
      einsum_row("bixy,ioxy->boxy", {{2, 3, 2, 4}, {3, 5, 2, 4}}),
      einsum_row("bnd,nde->bne", {{2, 3, 4}, {3, 4, 5}}),
      einsum_row("b n d, n d e -> b n e", {{2, 3, 4}, {3, 4, 5}}),
      einsum_row("bsd,bse->bde", {{2, 3, 4}, {2, 3, 5}}),
      einsum_row("sec,sm->ecm", {{5, 2, 3}, {5, 4}}),
      einsum_row("sec,ecm->sm", {{5, 2, 3}, {2, 3, 4}}),
      einsum_row("... i j, ... j d -> ... i d", {{2, 3, 4, 5}, {2, 3, 5, 6}}),
      einsum_row("...ij,...jk->...ik", {{3, 4, 5}, {2, 1, 5, 6}}),
      einsum_row("...ij,jk->...ik", {{2, 3, 4, 5}, {5, 6}}),
      einsum_row("...d,...d->...", {{2, 3, 4}, {2, 3, 4}}),
      einsum_row("...n,d->...nd", {{2, 3}, {4}}),
      einsum_row("i...,i...->...", {{4, 2, 3}, {4, 3}}),
      einsum_row("b...,b...->b...", {{2, 3, 4}, {2, 3, 4}}),
      einsum_row("bij,bjk", {{2, 3, 4}, {2, 4, 5}}),
      einsum_row("ij,jk", {{3, 4}, {4, 5}}),
      einsum_row("ba,cb", {{3, 4}, {5, 3}}),
      einsum_row("Ab,bc", {{3, 4}, {4, 5}}),
      einsum_row("...ij,...jk", {{2, 3, 4}, {2, 4, 5}}),
      einsum_row("i,i", {{4}, {4}}),
      einsum_row("i,j->ij", {{4}, {3}}),
      einsum_row("i , j -> i j", {{4}, {3}}),
      einsum_row("i,j->ji", {{4}, {3}}),
      einsum_row("i,j->", {{4}, {3}}),
      einsum_row("ij->", {{3, 4}}),
      einsum_row("ij->j", {{3, 4}}),
      einsum_row("ij->ji", {{3, 4}}),
      einsum_row("ij", {{3, 4}}),
      einsum_row("ba", {{3, 4}}),
      einsum_row("ijk->kij", {{2, 3, 4}}),
      einsum_row("...ij->...ji", {{2, 3, 4, 5}}),
      einsum_row("...->...", {{2, 3}}),
      einsum_row("i...->...", {{2, 3}}),
      einsum_row("ii->i", {{4, 4}}),
      einsum_row("ii", {{4, 4}}),
      einsum_row("ii->", {{4, 4}}),
      einsum_row("iji->j", {{3, 4, 3}}),
      einsum_row("bii->bi", {{2, 3, 3}}),
      einsum_row("...ii->...i", {{2, 3, 4, 4}}),
      einsum_row("iijj->ij", {{3, 3, 2, 2}}),
      einsum_row("iii->i", {{3, 3, 3}}),
      einsum_row("ii,ij->j", {{3, 3}, {3, 4}}),
      einsum_row("bi,bj,bk->bijk", {{2, 3}, {2, 4}, {2, 2}}),
      einsum_row("a,b,ab->", {{3}, {4}, {3, 4}}),
      einsum_row("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}}),
      einsum_row("ij,j,i->i", {{3, 4}, {4}, {3}}),
      einsum_row("ij,ij->ij", {{3, 4}, {3, 4}}),
      einsum_row("ij,ij->i", {{3, 4}, {3, 4}}),
      einsum_row("ij,ij->", {{3, 4}, {3, 4}}),
      einsum_row("ij,kl->ik", {{2, 3}, {4, 5}}),
      einsum_row("bij,bj->bi", {{2, 1, 4}, {2, 4}}),
      einsum_row("bij,bjk->bik", {{1, 3, 4}, {2, 4, 5}}),
      einsum_row("bij,bjk->bik", {{2, 3, 1}, {2, 4, 5}}),
      einsum_row("ij,jk->ik", {{3, 1}, {1, 5}}),
      einsum_row("ij,jk->ik", {{3, 0}, {0, 5}}),
      einsum_row("bij,bjk->bik", {{0, 3, 4}, {0, 4, 5}}),
      einsum_row(",->", {{}, {}}),
      einsum_row(",i->i", {{}, {4}}),
      einsum_row("i->", {{1}}),
  };
}

}  // namespace braid::parity
