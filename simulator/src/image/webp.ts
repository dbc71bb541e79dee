import type { Canvas, PictureOptions } from './canvas.js'

/** Symbols behind the 256 values of the green channel: the lengths of copies. */
const LENGTHS = 24
const DISTANCES = 40
const VALUES = 256
/** Distances are told by place: the pixel above, and the one to the left (RFC 9649, section 4.2.2). */
const ABOVE = 0
const LEFT = 1
const MIN_COPY_PIXELS = 3
const MAX_COPY_PIXELS = 4096
const SIGNATURE = 0x2f
/** The order in which lengths of the codes for code lengths stand. */
const ORDER = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]

interface Copy {
  readonly length: number
  readonly from: typeof ABOVE | typeof LEFT
}

/** Writes a picture as a lossless WebP file (RFC 9649): pixels of the palette, and copies of those above or to the left. */
export function webp(canvas: Canvas, { palette, transparent }: PictureOptions): Buffer {
  const { width, height } = canvas
  const colours = palette.map(
    ([red, green, blue], at) => [green, red, blue, transparent && at === 0 ? 0 : 255] as const,
  )
  const tokens = tokensOf(canvas)
  const codes = codesFor(tokens, colours)
  const [green, red, blue, alpha, distance] = codes
  const bits = new Bits()
  bits.put(SIGNATURE, 8)
  bits.put(width - 1, 14)
  bits.put(height - 1, 14)
  bits.put(transparent ? 1 : 0, 1)
  bits.put(0, 3 + 1 + 1 + 1) // the version; no transform, no cache of colours, one group of codes
  for (const code of codes) code.tell(bits)
  for (const token of tokens) {
    if (typeof token !== 'number') {
      const { symbol, extra, count } = prefix(token.length)
      green.write(bits, VALUES + symbol)
      bits.put(extra, count)
      distance.write(bits, token.from)
      continue
    }
    const colour = colours[token] ?? [0, 0, 0, 0]
    for (const [channel, code] of [green, red, blue, alpha].entries()) code.write(bits, colour[channel] ?? 0)
  }
  return riff(bits.finish())
}

/** Numbers of colours, and copies where one is longer than writing the pixels. */
function tokensOf({ width, height, bytes }: Canvas): readonly (number | Copy)[] {
  const pixels = Buffer.alloc(width * height)
  for (let row = 0; row < height; row += 1) {
    const from = row * (width + 1) + 1
    pixels.set(bytes.subarray(from, from + width), row * width)
  }
  const tokens: (number | Copy)[] = []
  for (let at = 0; at < pixels.length; ) {
    const left = runOf(pixels, at, 1)
    const above = runOf(pixels, at, width)
    const length = Math.max(left, above)
    if (length < MIN_COPY_PIXELS) {
      tokens.push(pixels[at] ?? 0)
      at += 1
    } else {
      tokens.push({ length, from: above >= left ? ABOVE : LEFT })
      at += length
    }
  }
  return tokens
}

/** How many pixels from a place on are like those so far before them. */
function runOf(pixels: Buffer, at: number, distance: number): number {
  if (at < distance) return 0
  let length = 0
  while (
    length < MAX_COPY_PIXELS &&
    at + length < pixels.length &&
    pixels[at + length] === pixels[at + length - distance]
  ) {
    length += 1
  }
  return length
}

/** A length as a symbol and further bits. */
function prefix(length: number): { symbol: number; extra: number; count: number } {
  const value = length - 1
  if (value < 4) return { symbol: value, extra: 0, count: 0 }
  const high = 31 - Math.clz32(value)
  const count = high - 1
  return { symbol: 2 * high + ((value >> count) & 1), extra: value & (2 ** count - 1), count }
}

type Five = readonly [Code, Code, Code, Code, Code]

function codesFor(tokens: readonly (number | Copy)[], colours: readonly (readonly number[])[]): Five {
  const sizes = [VALUES + LENGTHS, VALUES, VALUES, VALUES, DISTANCES] as const
  const counts = sizes.map(() => new Map<number, number>())
  const count = (code: number, symbol: number): void => {
    counts[code]?.set(symbol, (counts[code]?.get(symbol) ?? 0) + 1)
  }
  for (const token of tokens) {
    if (typeof token === 'number') for (let code = 0; code < 4; code += 1) count(code, colours[token]?.[code] ?? 0)
    else {
      count(0, VALUES + prefix(token.length).symbol)
      count(4, token.from)
    }
  }
  const codeAt = (at: 0 | 1 | 2 | 3 | 4): Code => new Code(sizes[at], counts[at] ?? new Map())
  return [codeAt(0), codeAt(1), codeAt(2), codeAt(3), codeAt(4)]
}

/** A prefix code that is as even as can be: of n symbols, those that are frequent may have one bit less than the others. */
class Code {
  readonly #size: number
  readonly #lengths: ReadonlyMap<number, number>
  readonly #codes = new Map<number, string>()

  constructor(size: number, counts: ReadonlyMap<number, number>) {
    this.#size = size
    const symbols = [...counts].toSorted(([a, x], [b, y]) => y - x || a - b).map(([symbol]) => symbol)
    const longest = Math.ceil(Math.log2(Math.max(1, symbols.length)))
    const short = 2 ** longest - symbols.length
    this.#lengths = new Map(symbols.map((symbol, at) => [symbol, at < short ? longest - 1 : longest]))
    let code = 0
    let before = 0
    const ordered = [...this.#lengths].toSorted(([a, x], [b, y]) => x - y || a - b)
    for (const [symbol, length] of ordered) {
      code <<= length - before
      before = length
      this.#codes.set(symbol, length === 0 ? '' : code.toString(2).padStart(length, '0'))
      code += 1
    }
  }

  /** The code itself, before what is written with it. */
  tell(bits: Bits): void {
    const symbols = [...this.#lengths.keys()]
    if (symbols.length <= 1 && (symbols[0] ?? 0) < VALUES) {
      bits.put(0b101, 3) // a simple code, of one symbol, that has 8 bits
      bits.put(symbols[0] ?? 0, 8)
      return
    }
    // A lone symbol that is too large for a simple code gets company, which nothing is written with.
    const lengths =
      symbols.length === 1
        ? new Map([
            [symbols[0] ?? 0, 1],
            [0, 1],
          ])
        : this.#lengths
    if (symbols.length === 1) this.#codes.set(symbols[0] ?? 0, '1')
    const used = [...new Set([0, ...lengths.values()])].toSorted((a, b) => a - b)
    bits.put(0, 1)
    bits.put(ORDER.length - 4, 4)
    const own = new Map(used.map((length, at) => [length, used.length === 2 || at === 0 ? 1 : 2]))
    for (const length of ORDER) bits.put(own.get(length) ?? 0, 3)
    bits.put(0, 1) // lengths of all symbols follow
    const written = used.length === 2 ? ['0', '1'] : ['0', '10', '11']
    for (let symbol = 0; symbol < this.#size; symbol += 1) {
      bits.code(written[used.indexOf(lengths.get(symbol) ?? 0)] ?? '0')
    }
  }

  write(bits: Bits, symbol: number): void {
    bits.code(this.#codes.get(symbol) ?? '')
  }
}

/** Writes bits, the lowest of each byte first. */
class Bits {
  readonly #bytes: number[] = []
  #byte = 0
  #used = 0

  /** A number, its lowest bit first. */
  put(value: number, count: number): void {
    for (let bit = 0; bit < count; bit += 1) this.#bit((value >> bit) & 1)
  }

  /** A code, its first digit first. */
  code(digits: string): void {
    for (const digit of digits) this.#bit(digit === '1' ? 1 : 0)
  }

  finish(): Buffer {
    if (this.#used > 0) this.#bytes.push(this.#byte)
    return Buffer.from(this.#bytes)
  }

  #bit(bit: number): void {
    this.#byte |= bit << this.#used
    this.#used += 1
    if (this.#used < 8) return
    this.#bytes.push(this.#byte)
    this.#byte = 0
    this.#used = 0
  }
}

function riff(image: Buffer): Buffer {
  const padded = image.length + (image.length % 2)
  const file = Buffer.alloc(20 + padded)
  file.write('RIFF')
  file.writeUInt32LE(12 + padded, 4)
  file.write('WEBPVP8L', 8)
  file.writeUInt32LE(image.length, 16)
  image.copy(file, 20)
  return file
}
