import type { Faults } from '../faults/table.js'
import type { Headers } from '../protocol.js'

export type HeaderList = readonly (readonly [string, string])[]

const BIG_HEADER_BYTES = 60 * 1024
const MANY_HEADERS = 200
const MAX_LAYERS = 2000

const HOP: HeaderList = [
  ['connection', 'keep-alive, x-hop'],
  ['x-hop', 'must not be forwarded'],
  ['keep-alive', 'timeout=5'],
  ['proxy-authenticate', 'Basic realm="simulator"'],
  ['upgrade', 'h2c'],
  ['set-cookie', 'session=simulator; HttpOnly'],
  ['set-cookie', 'other=simulator'],
]

/** The headers of an answer, with those that faults add. */
export function headerList(headers: Headers, faults: Faults): HeaderList {
  return [...Object.entries(headers), ...odd(faults.headers), ...encoding(faults)]
}

function odd(headers: Faults['headers']): HeaderList {
  switch (headers) {
    case 'big':
      return [['x-big', 'x'.repeat(BIG_HEADER_BYTES)]]
    case 'many':
      return Array.from({ length: MANY_HEADERS }, (_, index) => [`x-many-${index}`, String(index)] as const)
    case 'hop':
      return HOP
    case undefined:
      return []
  }
}

function encoding({ encoding: name, bomb, 'encoding-layers': layers = 0 }: Faults): HeaderList {
  if (layers > 0) return [['content-encoding', Array(Math.min(layers, MAX_LAYERS)).fill('gzip').join(', ')]]
  const applied = bomb === undefined ? name : 'gzip'
  return applied === undefined ? [] : [['content-encoding', applied]]
}
