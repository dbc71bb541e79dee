import type { BodyFormat } from '../core/shape.js'
import { asBuffer } from './bytes.js'

/** The formats that put the bytes of a client into JSON. */
export type MemberFormat = Exclude<BodyFormat, string | { readonly bytes: string }>

export function memberFormat(format: BodyFormat | undefined): MemberFormat | undefined {
  return typeof format === 'object' && !('bytes' in format) ? format : undefined
}

const MEDIA_TYPE = /^[a-z0-9.+-]+\/[a-z0-9.+-]+$/

/** A JSON object whose one member has the bytes. `written`: their content type, of which parameters are left out. */
export function jsonOfBytes(bytes: Uint8Array, format: MemberFormat, written = ''): Buffer {
  const type = written.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const text = asBuffer(bytes).toString('base64')
  if ('base64' in format) return Buffer.from(`{${JSON.stringify(format.base64)}:"${text}"}`)
  const known = MEDIA_TYPE.test(type) ? type : 'application/octet-stream'
  return Buffer.from(`{${JSON.stringify(format.data_url)}:"data:${known};base64,${text}"}`)
}
