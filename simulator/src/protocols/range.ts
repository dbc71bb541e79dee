import { SimulatorError } from '../errors.js'

/** The bytes that a `range` header asks for (RFC 9110, section 14), first and last; nothing where all are wanted, or several ranges. Throws 416. */
export function rangeOf(
  range: string | undefined,
  length: number,
): { readonly first: number; readonly last: number } | undefined {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range ?? '') ?? []
  if (from === '' && to === '') return undefined
  const first = from === '' ? Math.max(0, length - Number(to)) : Number(from)
  const last = from === '' || to === '' ? length - 1 : Math.min(Number(to), length - 1)
  if (first <= last) return { first, last }
  const headers = { 'content-range': `bytes */${length}` }
  throw new SimulatorError(416, 'The requested range is not satisfiable.', { headers })
}
