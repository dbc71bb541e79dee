import { SimulatorError } from '../../errors.js'
import type { Document, RequestHeaders } from '../../protocol.js'

/** Bytes of a file, or the one range of them that is asked for (RFC 9110 §14). */
export function content(bytes: Buffer, type: string, { range }: RequestHeaders): Document {
  const headers = { 'content-type': type, 'accept-ranges': 'bytes' }
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(range ?? '') ?? []
  if (first === '' && last === '') return { kind: 'document', status: 200, headers, body: bytes }
  const start = first === '' ? Math.max(0, bytes.length - Number(last)) : Number(first)
  const end = first === '' || last === '' ? bytes.length - 1 : Math.min(Number(last), bytes.length - 1)
  if (start > end) {
    throw new SimulatorError(416, 'The range is not satisfiable.', {
      headers: { 'content-range': `bytes */${bytes.length}` },
    })
  }
  const span = { 'content-range': `bytes ${start}-${end}/${bytes.length}` }
  return { kind: 'document', status: 206, headers: { ...headers, ...span }, body: bytes.subarray(start, end + 1) }
}
