import { deepEqual, equal } from 'node:assert/strict'
import fc from 'fast-check'
import { costNow } from '../../src/wire/json-cost.js'
import { findValue } from '../../src/wire/json-edit.js'
import { parseSteps } from '../../src/wire/json-parse.js'
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
      const value: unknown = small.document[name]
      equal(scanner.found(name)?.value, typeof value === 'object' && value !== null ? undefined : value)
    }
  },
})

fuzz('parsing in steps gives what JSON.parse gives, and the count is that of its values or more', {
  inputs: fc.tuple(jsonParts, fc.constantFrom(1, 7, 1000)),
  check([parts, step]) {
    const bytes = bytesOf(parts)
    const made = outcome(() => stepped(bytes, step))
    const expected = outcome(() => JSON.parse(bytes.toString('utf8')))
    equal(made, expected)
    if (expected !== undefined) equal(costNow(bytes, 1e9).values >= valuesOf(JSON.parse(expected)), true)
  },
})

function stepped(bytes: Buffer, step: number): unknown {
  const steps = parseSteps(bytes, { step })
  for (;;) {
    const made = steps.next()
    if (made.done === true) return made.value
  }
}

/** As text; undefined for what is not JSON. */
function outcome(read: () => unknown): string | undefined {
  try {
    return JSON.stringify(read())
  } catch (error) {
    equal((error as Error).name, 'SyntaxError')
    return undefined
  }
}

function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, one) => sum + valuesOf(one), 1)
}
