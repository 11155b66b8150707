from .mechanism import NoiseMechanism as NoiseMechanism
from .mechanism import exponential_mechanism as exponential_mechanism
