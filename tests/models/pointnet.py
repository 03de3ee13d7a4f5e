"""Twins of `pointnet_cls` and `pointnet_seg`: fxia22/pointnet.pytorch, with the
regulariser and the first T-Net of the paper."""

import torch
from torch import nn
from torch.nn import functional as F


def regulariser(a):
    unit = torch.eye(a.shape[1], dtype=a.dtype, device=a.device)
    d = torch.bmm(a, a.transpose(1, 2)) - unit
    return d.square().sum((1, 2)).mean()


class TNet(nn.Module):
    def __init__(self, k, width):
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv1d(k, width, 1)
        self.conv2 = nn.Conv1d(width, 2 * width, 1)
        self.conv3 = nn.Conv1d(2 * width, 16 * width, 1)
        self.fc1 = nn.Linear(16 * width, 8 * width)
        self.fc2 = nn.Linear(8 * width, 4 * width)
        self.fc3 = nn.Linear(4 * width, k * k)
        self.bn1 = nn.BatchNorm1d(width)
        self.bn2 = nn.BatchNorm1d(2 * width)
        self.bn3 = nn.BatchNorm1d(16 * width)
        self.bn4 = nn.BatchNorm1d(8 * width)
        self.bn5 = nn.BatchNorm1d(4 * width)
        nn.init.zeros_(self.fc3.weight)
        nn.init.zeros_(self.fc3.bias)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.relu(self.bn3(self.conv3(x))).max(2)[0]
        x = F.relu(self.bn4(self.fc1(x)))
        x = self.fc3(F.relu(self.bn5(self.fc2(x))))
        return x.view(-1, self.k, self.k) + torch.eye(self.k, dtype=x.dtype, device=x.device)


def transformed(x, matrix):
    return torch.bmm(x.transpose(2, 1), matrix).transpose(2, 1)


class PointNetFeat(nn.Module):
    def __init__(self, coordinates, width, feature_transform):
        super().__init__()
        self.stn = TNet(coordinates, width)
        self.conv1 = nn.Conv1d(coordinates, width, 1)
        self.conv2 = nn.Conv1d(width, 2 * width, 1)
        self.conv3 = nn.Conv1d(2 * width, 16 * width, 1)
        self.bn1 = nn.BatchNorm1d(width)
        self.bn2 = nn.BatchNorm1d(2 * width)
        self.bn3 = nn.BatchNorm1d(16 * width)
        self.feature_transform = feature_transform
        if feature_transform:
            self.fstn = TNet(width, width)

    def forward(self, x):
        x = transformed(x, self.stn(x))
        x = F.relu(self.bn1(self.conv1(x)))
        penalty = 0
        if self.feature_transform:
            matrix = self.fstn(x)
            x, penalty = transformed(x, matrix), regulariser(matrix)
        points = x
        x = F.relu(self.bn2(self.conv2(x)))
        return self.bn3(self.conv3(x)).max(2)[0], points, penalty


def draw_points(generator, size, coordinates, points):
    return torch.randn(size, coordinates, points, generator=generator, dtype=torch.float64)


class PointNetCls(nn.Module):
    def __init__(
        self, coordinates=3, points=1024, width=64, classes=40, feature_transform=1,
        regulariser=0.001, dropout=0.3,
    ):  # fmt: skip
        super().__init__()
        self.weight = regulariser
        self.feat = PointNetFeat(coordinates, width, feature_transform)
        self.fc1 = nn.Linear(16 * width, 8 * width)
        self.fc2 = nn.Linear(8 * width, 4 * width)
        self.fc3 = nn.Linear(4 * width, classes)
        self.dropout = nn.Dropout(dropout)
        self.bn1 = nn.BatchNorm1d(8 * width)
        self.bn2 = nn.BatchNorm1d(4 * width)

    def forward(self, x, y):
        x, _, penalty = self.feat(x)
        x = F.relu(self.bn1(self.fc1(x)))
        x = F.relu(self.bn2(self.dropout(self.fc2(x))))
        return F.cross_entropy(self.fc3(x), y) + self.weight * penalty

    @staticmethod
    def draw(generator, size, coordinates=3, points=1024, classes=40, **_):
        x = draw_points(generator, size, coordinates, points)
        return {"x": x, "y": torch.randint(classes, (size,), generator=generator)}


class PointNetSeg(nn.Module):
    def __init__(
        self, coordinates=3, points=2048, width=64, classes=50, feature_transform=1,
        regulariser=0.001,
    ):  # fmt: skip
        super().__init__()
        self.weight = regulariser
        self.feat = PointNetFeat(coordinates, width, feature_transform)
        self.conv1 = nn.Conv1d(17 * width, 8 * width, 1)
        self.conv2 = nn.Conv1d(8 * width, 4 * width, 1)
        self.conv3 = nn.Conv1d(4 * width, 2 * width, 1)
        self.conv4 = nn.Conv1d(2 * width, classes, 1)
        self.bn1 = nn.BatchNorm1d(8 * width)
        self.bn2 = nn.BatchNorm1d(4 * width)
        self.bn3 = nn.BatchNorm1d(2 * width)

    def forward(self, x, y):
        cloud, points, penalty = self.feat(x)
        cloud = cloud.unsqueeze(2).repeat(1, 1, points.shape[2])
        x = torch.cat([cloud, points], 1)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.relu(self.bn3(self.conv3(x)))
        return F.cross_entropy(self.conv4(x), y) + self.weight * penalty

    @staticmethod
    def draw(generator, size, coordinates=3, points=2048, classes=50, **_):
        x = draw_points(generator, size, coordinates, points)
        return {"x": x, "y": torch.randint(classes, (size, points), generator=generator)}
