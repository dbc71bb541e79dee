// Checks queries against the list of metrics: names, labels, and whether what counts is read by its growth.

/** Words of the language, beside functions. */
const WORDS = new Set([
  'by',
  'without',
  'on',
  'ignoring',
  'group_left',
  'group_right',
  'and',
  'or',
  'unless',
  'bool',
  'offset',
])
const GROUPINGS = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right'])
const AGGREGATIONS = new Set(['sum', 'min', 'max', 'avg', 'count', 'topk', 'bottomk', 'quantile'])
/** Functions of the growth of what counts. */
const GROWTH = new Set(['rate', 'increase', 'irate'])
const FUNCTIONS = new Set([
  ...[
    'histogram_quantile',
    'absent',
    'vector',
    'clamp_min',
    'resets',
    'changes',
    'max_over_time',
    'avg_over_time',
    'label_values',
  ],
  ...GROWTH,
  ...AGGREGATIONS,
])
/** Labels that Prometheus adds. */
const ADDED = ['job', 'instance']

const TOKEN =
  /"(?:[^"\\]|\\.)*"|[a-zA-Z_:][\w:]*|\[[^\]]*\]|\d+(?:\.\d+)?(?:e[+-]?\d+)?|=~|!~|!=|==|>=|<=|[-+*/%^(){},=<>]|\s+/gy

/** Every metric by the names of its series: `{ labels, kind }`. */
export function catalogueOf(metrics) {
  const series = new Map()
  for (const { name, kind, labels } of metrics) {
    const own = [...labels, ...ADDED]
    if (kind === 'histogram') {
      series.set(`${name}_bucket`, { kind: 'counter', labels: [...own, 'le'] })
      for (const part of ['_sum', '_count']) series.set(name + part, { kind: 'counter', labels: own })
    } else series.set(name, { kind, labels: own })
  }
  return series
}

/**
 * Throws where a query names a metric, a label or a function that does not exist. Returns the labels that its result has. `where`
 * names the query in the error.
 */
export function checkQuery(query, catalogue, where) {
  const fail = why => {
    throw new Error(`${where}: ${why}, in: ${query}`)
  }
  const tokens = tokensOf(query, fail)
  const used = []
  const groups = []
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]
    if (token === '{') fail('a selector without a metric')
    if (!/^[a-zA-Z_:]/.test(token)) continue
    if (GROUPINGS.has(token)) {
      const labels = listAt(tokens, at + 1, fail)
      groups.push({ word: token, labels, after: at + labels.length * 2 + (labels.length === 0 ? 3 : 2) })
      at = groups.at(-1).after - 1
    } else if (WORDS.has(token)) continue
    else if (['(', 'by', 'without'].includes(tokens[at + 1]) && FUNCTIONS.has(token)) continue
    else at = selectorAt(tokens, at, catalogue, used, fail)
  }
  if (used.length === 0 && !query.startsWith('vector(')) fail('it reads no metric')
  for (const { word, labels, after } of groups) checkGroup(word, labels, usedWithin(tokens, after, word, used), fail)
  const by = groups.filter(({ word }) => word === 'by').flatMap(({ labels }) => labels)
  return new Set(by.length > 0 || hasBareAggregation(tokens) ? by : used.flatMap(({ labels }) => labels))
}

function tokensOf(query, fail) {
  const tokens = []
  let end = 0
  for (const { 0: token, index } of query.matchAll(TOKEN)) {
    if (index !== end) fail(`cannot be read at ${end}`)
    end = index + token.length
    if (token.trim() !== '') tokens.push(token)
  }
  if (end !== query.length) fail(`cannot be read at ${end}`)
  return tokens
}

/** Labels in brackets, from the opening one on. */
function listAt(tokens, at, fail) {
  if (tokens[at] !== '(') fail('a grouping without its list')
  const end = tokens.indexOf(')', at)
  return tokens.slice(at + 1, end).filter(token => token !== ',')
}

/** Reads a metric, its matchers and its range; returns where it ends. */
function selectorAt(tokens, at, catalogue, used, fail) {
  const name = tokens[at]
  const known = catalogue.get(name)
  if (known === undefined) fail(`there is no metric or function ${name}`)
  let end = at
  if (tokens[at + 1] === '{') {
    end = tokens.indexOf('}', at)
    for (let n = at + 2; n < end; n += 4) {
      if (!known.labels.includes(tokens[n])) fail(`${name} has no label ${tokens[n]}`)
      if (!/^(=|!=|=~|!~)$/.test(tokens[n + 1]) || !tokens[n + 2]?.startsWith('"'))
        fail('a matcher that cannot be read')
    }
  }
  const isRange = tokens[end + 1]?.startsWith('[') === true
  const caller = tokens[at - 2]
  if (known.kind === 'counter' && !(isRange && GROWTH.has(caller)) && caller !== 'label_values')
    fail(`${name} counts, so that it is read by rate() or increase()`)
  if (known.kind === 'gauge' && GROWTH.has(caller)) fail(`${name} is a gauge, which has no rate`)
  if (caller === 'label_values' && !known.labels.includes(tokens[end + 2]))
    fail(`${name} has no label ${tokens[end + 2]}`)
  used.push({ at, name, labels: known.labels })
  return caller === 'label_values' ? end + 2 : isRange ? end + 1 : end
}

/** What an aggregation reads, or for a matching of two sides everything. */
function usedWithin(tokens, from, word, used) {
  if (word !== 'by' && word !== 'without') return used
  let depth = 0
  let end = from
  do {
    if (tokens[end] === '(') depth++
    if (tokens[end] === ')') depth--
    end++
  } while (depth > 0 && end < tokens.length)
  return used.filter(({ at }) => at >= from && at < end)
}

function checkGroup(word, labels, used, fail) {
  for (const label of labels) {
    const lacking = used.find(one => !one.labels.includes(label))
    if (lacking !== undefined) fail(`${lacking.name} has no label ${label} for ${word}`)
  }
}

function hasBareAggregation(tokens) {
  return tokens.some(
    (token, at) => AGGREGATIONS.has(token) && tokens[at + 1] === '(' && !/^(topk|bottomk)$/.test(token),
  )
}
