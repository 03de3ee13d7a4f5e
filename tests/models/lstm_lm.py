"""Twin of `lstm_lm`: PyTorch's word language model on nn.LSTM."""

from torch import nn
from torch.nn import functional as F

from .transformer import Transformer


class LSTMLM(nn.Module):
    draw = Transformer.draw

    def __init__(
        self, length=35, vocab=10000, width=650, hidden=650, layers=2, tied=0, dropout=0.5
    ):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(vocab, width)
        between = dropout if layers > 1 else 0.0
        self.rnn = nn.LSTM(width, hidden, layers, dropout=between, batch_first=True)
        self.decoder = nn.Linear(hidden, vocab)
        if tied:
            self.decoder.weight = self.encoder.weight
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.05, 0.05)

    def forward(self, tokens, targets):
        x, _ = self.rnn(self.drop(self.encoder(tokens)))
        x = self.decoder(self.drop(x))
        return F.cross_entropy(x.flatten(0, 1), targets.flatten())
