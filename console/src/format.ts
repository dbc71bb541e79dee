const GROUPED = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const DAY = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short', hour: '2-digit', minute: '2-digit' })

export const NONE = '—'

/** A number and its unit, apart: the unit is shown smaller. */
export type Figure = readonly [number: string, unit: string]

export function milliseconds(value: number | null | undefined): Figure {
  if (value === null || value === undefined) return [NONE, '']
  if (value < 10) return [value.toFixed(1), 'ms']
  if (value < 1000) return [value.toFixed(0), 'ms']
  if (value < 60_000) return [(value / 1000).toFixed(2), 's']
  return [(value / 60_000).toFixed(1), 'min']
}

export function rate(value: number): Figure {
  if (value === 0) return ['0', '/s']
  if (value >= 10_000) return [(value / 1000).toFixed(1), 'k /s']
  return [value < 10 ? value.toFixed(value < 0.1 ? 2 : 1) : value.toFixed(value < 100 ? 1 : 0), '/s']
}

export function share(part: number, whole: number): Figure {
  if (whole === 0) return [NONE, '']
  const percent = (100 * part) / whole
  return [percent === 0 ? '0' : percent < 10 ? percent.toFixed(1) : percent.toFixed(0), '%']
}

export function count(value: number): string {
  if (value >= 10_000_000) return `${(value / 1_000_000).toFixed(1)} M`
  return GROUPED.format(value)
}

/** `1 request`, `2 requests` */
export function counted(value: number, what: string): string {
  return `${count(value)} ${what}${value === 1 ? '' : 's'}`
}

export function usd(value: number): string {
  if (value === 0) return '0'
  // The same number of digits for all small sums, so that columns can be compared.
  if (value < 0.01) return value < 0.00001 ? '< 0.00001' : value.toFixed(5)
  return value.toFixed(value < 1 ? 4 : 2)
}

export function text([number, unit]: Figure): string {
  return unit === '' ? number : `${number}\u00a0${unit}`
}

/** By the clock of this browser. */
export function clock(time: string | number): string {
  return CLOCK.format(new Date(time))
}

export function day(time: string | number): string {
  return DAY.format(new Date(time))
}

/** A long name, cut in its middle. */
export function short(name: string, most = 40): string {
  if (name.length <= most) return name
  const half = Math.floor((most - 1) / 2)
  return `${name.slice(0, half)}…${name.slice(-half)}`
}
