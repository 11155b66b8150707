from .exponential import exponential_mechanism as exponential_mechanism
from .mechanism import NoiseMechanism as NoiseMechanism
