import { deepEqual, equal } from 'node:assert/strict'
import fc from 'fast-check'
import { findValue } from '../../src/wire/json-edit.js'
import { JsonScanner, type ScanOptions } from '../../src/wire/json-scan.js'
import { parseSmall } from '../../src/wire/json-small.js'
import { cut, places } from '../wire/cuts.js'
import { parseContainer, parseObject } from '../wire/json-documents.js'
import { bytesOf, jsonParts } from './json-bytes.js'
import { fuzz } from './run.js'

/** No document here is over these. */
const NO_LIMITS: ScanOptions = { control: [], depth: 10_000, members: 10_000 }

function scanned(pieces: readonly Buffer[], options: ScanOptions): JsonScanner {
  const scanner = new JsonScanner(options)
  for (const piece of pieces) scanner.push(piece)
  return scanner
}

/** The objects that `JSON.parse` makes of the bytes, decoded as the gateway decodes them. */
const parsed = (bytes: Buffer): Record<string, unknown> | undefined => parseObject(bytes.toString('utf8'))

fuzz('the scanner admits what JSON.parse takes, of any size and cut anywhere', {
  inputs: fc.tuple(jsonParts, places),
  check([parts, at]) {
    const bytes = bytesOf(parts)
    const scanner = scanned(cut(bytes, at), NO_LIMITS)
    const isSound = scanner.end() === undefined
    equal(isSound, parsed(bytes) !== undefined)
    deepEqual(scanned([bytes], NO_LIMITS).end(), scanner.end())
    if (isSound) JSON.parse(scanner.skeleton())
  },
})

fuzz('the reader that edits takes what JSON.parse takes', {
  inputs: jsonParts,
  check(parts) {
    const bytes = bytesOf(parts)
    let isSound = true
    try {
      findValue(bytes, ['a', 'b'])
    } catch (error) {
      equal((error as Error).name, 'SyntaxError')
      isSound = false
    }
    // It edits arrays too, which no request is.
    equal(isSound, parseContainer(bytes.toString('utf8')) !== undefined)
  },
})

fuzz('small and large bodies have one verdict and the same control values', {
  inputs: fc.tuple(jsonParts, fc.constantFrom(4, 64), fc.constantFrom(2, 10_000)),
  check([parts, depth, members]) {
    const bytes = bytesOf(parts)
    const options = { control: ['model', 'stream'], depth, members }
    const small = parseSmall(bytes, options)
    if (small === undefined) return
    const scanner = scanned([bytes], options)
    equal(scanner.end(), undefined)
    for (const name of options.control) {
      const value: unknown = small[name]
      equal(scanner.found(name)?.value, typeof value === 'object' && value !== null ? undefined : value)
    }
  },
})
