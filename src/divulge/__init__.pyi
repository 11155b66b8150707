__version__: str

from .errors import DivulgeError as DivulgeError
from .errors import InputFileError as InputFileError
from .errors import LabelError as LabelError
from .errors import MissingExtraError as MissingExtraError
from .measures.capacity import bayes_capacity as bayes_capacity
from .measures.capacity import maximal_cost_leakage as maximal_cost_leakage
from .measures.capacity import maximal_leakage as maximal_leakage
from .measures.density import Alip as Alip
from .measures.density import alip as alip
from .measures.density import ldp as ldp
from .measures.density import lift as lift
from .measures.density import lift_capacity as lift_capacity
from .measures.density import lip as lip
from .measures.density import pmc as pmc
from .measures.density import pml as pml
from .measures.pointwise import Pointwise as Pointwise
from .model.channel import Channel as Channel
from .model.joint import Joint as Joint
from .model.prior import Prior as Prior
