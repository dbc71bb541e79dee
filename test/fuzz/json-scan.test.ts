import { equal } from 'node:assert/strict'
import fc from 'fast-check'
import { JsonScanner } from '../../src/wire/json-scan.js'
import { cut, places } from '../wire/cuts.js'
import { documents, mutants, parseObject } from '../wire/json-documents.js'
import { fuzz } from './run.js'

fuzz('the scanner takes what JSON.parse takes, cut anywhere', {
  inputs: fc.tuple(fc.oneof(documents, mutants), places),
  check([text, at]) {
    const scanner = new JsonScanner({ control: [], depth: 64, members: 10_000 })
    for (const piece of cut(Buffer.from(text), at)) scanner.push(piece)
    equal(scanner.end() === undefined, parseObject(text) !== undefined)
  },
})
