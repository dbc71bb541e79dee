// Parts of queries that several dashboards have.

/** A quantile of a histogram. */
export const p = (quantile, metric, by, more = '') =>
  `histogram_quantile(${quantile}, sum by (${['le', ...by].join(', ')}) (rate(${metric}_bucket{@${more}}[@])))`

/** Share of what grows, also where nothing of it has failed yet. */
export const share = (metric, by, failed, all) => {
  const sum = more => `sum by (${by}) (rate(${metric}{@${more}}[@]))`
  return `(${sum(failed)} or 0 * ${sum(all)}) / ${sum(all)}`
}

export const MODEL = ',model=~"$model"'
export const GEN_AI = ',gen_ai_request_model=~"$model"'
export const UPSTREAM = ',upstream=~"$upstream"'
export const GOOD_IS_ZERO = [
  [null, 'blue'],
  [1, 'vermillion'],
]
export const GOOD_IS_ONE = [
  [null, 'vermillion'],
  [1, 'blue'],
]
export const SHARES = [
  [null, 'blue'],
  [0.01, 'orange'],
  [0.05, 'vermillion'],
]
export const FAILED = 'outcome=~"upstream_error|gateway_error"'
