"""Price European options with the Black-Scholes formula: call and put, evaluated together.

Run it with `python -m examples.black_scholes`.
Source: F. Black and M. Scholes, The pricing of options and corporate liabilities, Journal of
Political Economy 81(3), 1973.
"""

import numpy as np

import lazyblock as lb

RISK_FREE_RATE = 0.02
VOLATILITY = 0.30


def normal_cdf(x):
    """Return the normal distribution function, right to 7.5e-8.

    Source: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 1964, formula 26.2.17.
    """
    t = 1 / (1 + 0.2316419 * np.abs(x))
    slope = 1.781477937 + t * (-1.821255978 + t * 1.330274429)
    tail = t * (0.319381530 + t * (-0.356563782 + t * slope))
    upper = 0.3989422804014327 * np.exp(-0.5 * x * x) * tail
    return np.where(x < 0, upper, 1 - upper)


def price_options(spot, strike, years):
    """Return the prices of calls and puts for assets worth `spot`, due in `years`; all (N,)."""
    spread = VOLATILITY * np.sqrt(years)
    d1 = (np.log(spot / strike) + (RISK_FREE_RATE + 0.5 * VOLATILITY**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-RISK_FREE_RATE * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    put = discounted * normal_cdf(-d2) - spot * normal_cdf(-d1)
    return call, put


def load_inputs(count: int = 500_000) -> tuple[np.ndarray, ...]:
    """Return spot, strike and years of `count` made-up options as float64 arrays."""
    random = np.random.default_rng(1973)
    return (
        random.uniform(5, 30, count),
        random.uniform(1, 100, count),
        random.uniform(0.25, 10, count),
    )


def main() -> None:
    """Print the first few prices."""
    spot, strike, years = load_inputs()
    call, put = price_options(lb.asarray(spot), lb.asarray(strike), lb.asarray(years))
    lb.eval(call, put)  # both results in one plan
    print("   spot  strike   years    call     put")
    for row in zip(spot[:8], strike[:8], years[:8], call.numpy(), put.numpy(), strict=False):
        print("".join(f"{value:8.2f}" for value in row))


if __name__ == "__main__":
    main()
