"""Lion (Chen et al. 2023), an optimizer of one's own."""

import torch


class Lion(torch.optim.Optimizer):
    def __init__(self, groups, lr):
        super().__init__(groups, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for weights in group["params"]:
                if weights.grad is None:
                    continue
                state = self.state[weights]
                moment = state.setdefault("moment", torch.zeros_like(weights))
                direction = (0.9 * moment + 0.1 * weights.grad).sign()
                weights.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * direction)
                moment.mul_(0.99).add_(0.01 * weights.grad)


def make_optimizer(groups, config):
    return Lion(groups, config.lr)
