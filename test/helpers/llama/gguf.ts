/** Values of metadata: what they are in the file is said by their type, which GGUF writes before each. */
export type Value =
  | { readonly u32: number }
  | { readonly f32: number }
  | { readonly bool: boolean }
  | { readonly string: string }
  | { readonly strings: readonly string[] }
  | { readonly i32s: readonly number[] }

export interface Tensor {
  readonly name: string
  /** The innermost first, as GGUF has them. */
  readonly shape: readonly number[]
  readonly values: Float32Array
}

const VERSION = 3
const ALIGNMENT_BYTES = 32
const TYPES = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 }
/** The type of a tensor of 32-bit floats. */
const F32 = 0

/** A file of GGUF, version 3: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
export function gguf(metadata: Readonly<Record<string, Value>>, tensors: readonly Tensor[]): Buffer {
  const entries = Object.entries(metadata)
  const head = [Buffer.from('GGUF'), u32(VERSION), u64(tensors.length), u64(entries.length)]
  for (const [key, value] of entries) head.push(text(key), ...encoded(value))
  let offset = 0
  for (const { name, shape, values } of tensors) {
    head.push(text(name), u32(shape.length), ...shape.map(u64), u32(F32), u64(offset))
    offset += aligned(values.byteLength)
  }
  const data = tensors.map(({ values }) => padded(Buffer.from(values.buffer, values.byteOffset, values.byteLength)))
  return Buffer.concat([padded(Buffer.concat(head)), ...data])
}

function encoded(value: Value): Buffer[] {
  if ('u32' in value) return [u32(TYPES.u32), u32(value.u32)]
  if ('f32' in value) return [u32(TYPES.f32), f32(value.f32)]
  if ('bool' in value) return [u32(TYPES.bool), Buffer.from([value.bool ? 1 : 0])]
  if ('string' in value) return [u32(TYPES.string), text(value.string)]
  if ('i32s' in value) return [u32(TYPES.array), u32(TYPES.i32), u64(value.i32s.length), ...value.i32s.map(u32)]
  return [u32(TYPES.array), u32(TYPES.string), u64(value.strings.length), ...value.strings.map(text)]
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function f32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([u64(bytes.length), bytes])
}

function aligned(length: number): number {
  return Math.ceil(length / ALIGNMENT_BYTES) * ALIGNMENT_BYTES
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(aligned(bytes.length) - bytes.length)])
}
