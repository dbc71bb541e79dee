/** One sample of a text of metrics. */
interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A text of metrics, taken apart as strictly as the formats are written. */
export class MetricsPage {
  readonly types: ReadonlyMap<string, string>
  readonly samples: readonly Sample[]

  constructor(types: ReadonlyMap<string, string>, samples: readonly Sample[]) {
    this.types = types
    this.samples = samples
  }

  /** Samples of a name whose labels have these values. */
  of(name: string, labels: Readonly<Record<string, string>> = {}): readonly Sample[] {
    return this.samples.filter(
      one => one.name === name && Object.entries(labels).every(([label, value]) => (one.labels[label] ?? '') === value),
    )
  }

  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    return this.of(name, labels).reduce((sum, { value }) => sum + value, 0)
  }
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=.)|$)/
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  histogram: ['_bucket', '_sum', '_count'],
  gauge: [''],
}
const ESCAPES: Readonly<Record<string, string>> = { '\\n': '\n', '\\\\': '\\', '\\"': '"' }

/** Reads a text of metrics; throws where it breaks a rule of its format. */
export function readMetrics(text: string, isOpen: boolean): MetricsPage {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const lines = text.slice(0, -1).split('\n')
  if (isOpen && lines.pop() !== '# EOF') throw new Error('the text does not end with # EOF')
  const reader = new Reader(isOpen)
  for (const line of lines) {
    try {
      reader.line(line)
    } catch (cause) {
      throw new Error(`${(cause as Error).message}: ${line}`)
    }
  }
  return reader.end()
}

class Reader {
  readonly #isOpen: boolean
  readonly #types = new Map<string, string>()
  readonly #helps = new Set<string>()
  readonly #units = new Set<string>()
  readonly #samples: Sample[] = []
  readonly #seen = new Set<string>()
  #family = ''

  constructor(isOpen: boolean) {
    this.#isOpen = isOpen
  }

  line(line: string): void {
    if (line.startsWith('#')) this.#head(line)
    else this.#sample(line)
  }

  #head(line: string): void {
    const [, word, family, rest] = /^# (HELP|TYPE|UNIT) (\S+) (.+)$/.exec(line) ?? []
    if (word === undefined || family === undefined || rest === undefined) throw new Error('not a line of a head')
    if (!NAME.test(family)) throw new Error('not a name')
    if (word === 'HELP') {
      if (this.#helps.has(family)) throw new Error('a family comes twice')
      this.#helps.add(family)
      if (/\\(?![\\n"])/.test(rest)) throw new Error('a bad escape')
    } else if (family !== this.#family && word === 'UNIT') throw new Error('a unit of another family')
    if (word === 'TYPE') {
      if (this.#types.has(family)) throw new Error('a type comes twice')
      if (!['counter', 'gauge', 'histogram'].includes(rest)) throw new Error('not a type')
      this.#types.set(family, rest)
    }
    if (word === 'UNIT') {
      if (!this.#isOpen || this.#units.has(family) || !family.endsWith(`_${rest}`)) throw new Error('a wrong unit')
      this.#units.add(family)
    }
    this.#family = family
  }

  #sample(line: string): void {
    const [, name = '', inner, number = ''] = SAMPLE.exec(line) ?? []
    const type = this.#types.get(this.#family)
    const suffixes = type === 'counter' ? [this.#isOpen ? '_total' : ''] : (SUFFIXES[type ?? ''] ?? [])
    if (!suffixes.some(suffix => name === `${this.#family}${suffix}`)) throw new Error('not of the family above')
    if (type === 'counter' && !name.endsWith('_total')) throw new Error('a counter without _total')
    const value = number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number)
    if (number === '' || Number.isNaN(value)) throw new Error('not a number')
    if (type !== 'gauge' && value < 0) throw new Error('below 0')
    const labels = labelsOf(inner)
    const key = `${name}${JSON.stringify(Object.entries(labels).toSorted())}`
    if (this.#seen.has(key)) throw new Error('a sample comes twice')
    this.#seen.add(key)
    this.#samples.push({ name, labels, value })
  }

  end(): MetricsPage {
    for (const [family, type] of this.#types) {
      if (!this.#helps.has(family)) throw new Error(`${family} has no help`)
      if (type === 'histogram') this.#checkBuckets(family)
    }
    return new MetricsPage(this.#types, this.#samples)
  }

  #checkBuckets(family: string): void {
    const bySeries = new Map<string, Sample[]>()
    const keyOf = ({ le: _, ...labels }: Sample['labels']): string => JSON.stringify(Object.entries(labels))
    for (const one of this.#samples.filter(({ name }) => name === `${family}_bucket`)) {
      const key = keyOf(one.labels)
      bySeries.set(key, [...(bySeries.get(key) ?? []), one])
    }
    for (const [key, buckets] of bySeries) {
      const bounds = buckets.map(({ labels }) => (labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)))
      for (const [at, bucket] of buckets.entries()) {
        const before = buckets[at - 1]
        if (before !== undefined && !((bounds[at] ?? 0) > (bounds[at - 1] ?? 0) && bucket.value >= before.value))
          throw new Error(`${family}: buckets are not in order`)
      }
      const count = this.#samples.find(one => one.name === `${family}_count` && keyOf(one.labels) === key)
      const isWhole = bounds.at(-1) === Number.POSITIVE_INFINITY && count?.value === buckets.at(-1)?.value
      const sum = this.#samples.some(one => one.name === `${family}_sum` && keyOf(one.labels) === key)
      if (!isWhole || !sum) throw new Error(`${family}: count, sum or the last bucket is missing or differs`)
    }
  }
}

function labelsOf(inner: string | undefined): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {}
  for (let rest = inner ?? ''; rest !== ''; ) {
    const [whole = '', name = '', value = ''] = LABEL.exec(rest) ?? []
    if (whole === '' || name in labels) throw new Error('bad labels')
    labels[name] = value.replace(/\\./g, one => ESCAPES[one] ?? one)
    rest = rest.slice(whole.length)
  }
  return labels
}
