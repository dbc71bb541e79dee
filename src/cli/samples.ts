/** One number of a page of metrics. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

/** The numbers of a page in the text format of Prometheus. */
export function readSamples(page: string): readonly Sample[] {
  return page.split('\n').flatMap(line => {
    const [, name, labels = '', value] = LINE.exec(line) ?? []
    if (name === undefined) return []
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', text = '']) => [label, text.replace(/\\(.)/g, '$1')])
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }]
  })
}

/** Sums of a metric by the values of a label; '' where it has none. */
export function sumBy(
  samples: readonly Sample[],
  metric: string,
  label: string,
  only: Readonly<Record<string, string>> = {},
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const { name, labels, value } of samples) {
    if (name !== metric || Object.entries(only).some(([other, wanted]) => labels[other] !== wanted)) continue
    const key = labels[label] ?? ''
    sums.set(key, (sums.get(key) ?? 0) + value)
  }
  return sums
}
