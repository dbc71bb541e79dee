/** Size of the slab: one page of WebAssembly memory. */
export const SLAB_BYTES = 64 * 1024

/** The part of the WebAssembly interface used here; the types of Node.js omit it. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object
  readonly Instance: new (
    module: object,
  ) => { readonly exports: { readonly memory: { readonly buffer: ArrayBuffer }; readonly xor: Xor } }
}

/** XORs the first `length` bytes of the slab with the four bytes of `key` (lowest byte first), repeated. */
type Xor = (length: number, key: number) => void

/**
 * What a loop in JavaScript does in a microsecond and more for a frame of audio, this does in a tenth: sixteen bytes at a
 * time. In words:
 *
 *     (module
 *       (memory (export "memory") 1)
 *       (func (export "xor") (param $length i32) (param $key i32) (local $at i32) (local $mask v128)
 *         (local.set $mask (i32x4.splat (local.get $key)))
 *         (loop
 *           (v128.store (local.get $at) (v128.xor (v128.load (local.get $at)) (local.get $mask)))
 *           (br_if 0 (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $length))))))
 */
const CODE = [
  '0061736d 01000000', // magic, version
  '01 06 01 60 02 7f 7f 00', // one type: (i32, i32) → ()
  '03 02 01 00', // one function of it
  '05 03 01 00 01', // one memory of one page
  '07 10 02 06 6d656d6f7279 02 00 03 786f72 00 00', // exports
  '0a 2d 01 2b 02 01 7f 01 7b', // one body: two locals
  '20 01 fd 11 21 03', // $mask
  '03 40 20 02 20 02 fd 00 04 00 20 03 fd 51 fd 0b 04 00', // loop: load, xor, store
  '20 02 41 10 6a 22 02 20 00 49 0d 00 0b 0b', // the next sixteen
]

const code = Buffer.from(CODE.join('').replaceAll(' ', ''), 'hex')
const { memory, xor: turn } = new WebAssembly.Instance(new WebAssembly.Module(code)).exports

/** One slab for all callers: each reads its result at once. */
export const slab = Buffer.from(memory.buffer)

export const xor: Xor = turn
