"""The kinds of guarantee: at every outcome, on average over outcomes, about privacy losses and divergences of rows."""

from divulge.guarantees.kinds.average import (
    AverageGLeakage as AverageGLeakage,
)
from divulge.guarantees.kinds.average import (
    BayesCapacity as BayesCapacity,
)
from divulge.guarantees.kinds.average import (
    MaximalCostLeakage as MaximalCostLeakage,
)
from divulge.guarantees.kinds.average import (
    MaximalLeakage as MaximalLeakage,
)
from divulge.guarantees.kinds.average import (
    MeanPMC as MeanPMC,
)
from divulge.guarantees.kinds.average import (
    MeanPML as MeanPML,
)
from divulge.guarantees.kinds.average import (
    MinEntropyLeakage as MinEntropyLeakage,
)
from divulge.guarantees.kinds.average import (
    MutualInformation as MutualInformation,
)
from divulge.guarantees.kinds.density import (
    ALIP as ALIP,
)
from divulge.guarantees.kinds.density import (
    DP as DP,
)
from divulge.guarantees.kinds.density import (
    LDP as LDP,
)
from divulge.guarantees.kinds.density import (
    LIP as LIP,
)
from divulge.guarantees.kinds.density import (
    PMC as PMC,
)
from divulge.guarantees.kinds.density import (
    PML as PML,
)
from divulge.guarantees.kinds.density import (
    Lift as Lift,
)
from divulge.guarantees.kinds.density import (
    LiftCapacity as LiftCapacity,
)
from divulge.guarantees.kinds.density import (
    MaxGLeakage as MaxGLeakage,
)
from divulge.guarantees.kinds.density import (
    TailPMC as TailPMC,
)
from divulge.guarantees.kinds.density import (
    TailPML as TailPML,
)
from divulge.guarantees.kinds.metric import (
    MetricPrivacy as MetricPrivacy,
)
from divulge.guarantees.kinds.tables import (
    BetaLikeness as BetaLikeness,
)
from divulge.guarantees.kinds.tables import (
    DeltaDisclosure as DeltaDisclosure,
)
from divulge.guarantees.kinds.tables import (
    DistinctL as DistinctL,
)
from divulge.guarantees.kinds.tables import (
    EnhancedBeta as EnhancedBeta,
)
from divulge.guarantees.kinds.tables import (
    EntropyL as EntropyL,
)
from divulge.guarantees.kinds.tables import (
    KAnonymity as KAnonymity,
)
from divulge.guarantees.kinds.tables import (
    OrderedT as OrderedT,
)
from divulge.guarantees.kinds.tables import (
    RecursiveL as RecursiveL,
)
from divulge.guarantees.kinds.tables import (
    TCloseness as TCloseness,
)
