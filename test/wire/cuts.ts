import { fc } from '../helpers/property.js'

/** Cuts a text in pieces at these places, in order; places outside and repeated ones make empty pieces. */
export function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map(place => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  return sorted.slice(1).map((place, index) => bytes.subarray(sorted[index], place))
}

/** Cuts a text after every byte. */
export function cutEverywhere(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
}

/** Every way to cut a text in two. */
export function* cutsInTwo(bytes: Buffer): Generator<Buffer[]> {
  for (let at = 0; at <= bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)]
}

/** A few places to cut at. */
export const places: fc.Arbitrary<number[]> = fc.array(fc.nat(5000), { maxLength: 12 })
