import { validateHeaderName, validateHeaderValue } from 'node:http'
import t from 'tap'
import { HeaderNames } from '../../src/transport/header-lines.js'
import { responseHead } from '../../src/transport/server/response-head.js'
import { fc } from '../helpers/property.js'

/** As `node:http` judges. */
function isSendable(name: string, value: string): boolean {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}

// Few, so that many follow each other twice.
const name = fc.constantFrom('content-type', 'Content-Type', 'x-a', 'x a', '', 'x:', 'ä')
const value = fc.constantFrom('', ' ', 'a', 'b', 'a\r\nx: y', 'a\0', 'ÿ', 'Ā', '\x7f', 'a\tb', 'z'.repeat(300))

t.test('a line is the same however often it is asked for, and refused as node:http refuses it', async t => {
  const names = new HeaderNames()
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 30 }), pairs => {
      for (const [name, value] of pairs) {
        const line = names.of(name)?.line(value)
        t.equal(line, isSendable(name, value) ? `${name}: ${value}\r\n` : undefined)
      }
    }),
  )
})

t.test('a head says what it is given, and nothing of the heads before it', async t => {
  const header = fc.tuple(
    fc.constantFrom('content-length', 'Connection', 'keep-alive', 'date', 'x-a'),
    fc.constantFrom('1', '2', 'close', 'keep-alive', 'timeout=5'),
  )
  const given = fc.record({
    status: fc.constantFrom(200, 204, 404, 599),
    headers: fc.uniqueArray(header, { selector: ([name]) => name }),
    options: fc.record({
      isHead: fc.boolean(),
      keepsAlive: fc.boolean(),
      keepAliveTimeout: fc.constantFrom(0, 5000, 75_000),
    }),
  })
  fc.assert(
    fc.property(fc.array(given, { maxLength: 20 }), heads => {
      for (const { status, headers, options } of heads) {
        const { text, hasBody, isChunked, isLast } = responseHead(status, headers.flat(), options)
        const lines = text.split('\r\n')
        t.match(lines[0], new RegExp(`^HTTP/1.1 ${status} `))
        t.same(lines.slice(-2), ['', ''])
        const has = (start: string): boolean => lines.some(line => line.toLowerCase().startsWith(start))
        for (const [name, value] of headers) t.ok(lines.includes(`${name}: ${value}`))
        const connection = headers.find(([name]) => name === 'Connection')?.[1]
        const keeps = connection === undefined ? options.keepsAlive : connection !== 'close'
        t.equal(isLast, !keeps)
        t.equal(lines.filter(line => /^connection:/i.test(line)).length, 1)
        t.equal(lines.filter(line => /^date:/i.test(line)).length, 1)
        t.equal(
          connection ?? (keeps ? 'keep-alive' : 'close'),
          lines.find(line => /^connection:/i.test(line))?.slice(12),
        )
        const ownsKeepAlive = connection === undefined && keeps && options.keepAliveTimeout > 0
        t.equal(has('keep-alive:'), ownsKeepAlive || headers.some(([name]) => name === 'keep-alive'))
        t.equal(isChunked, has('transfer-encoding: chunked'))
        t.equal(hasBody, status !== 204 && !options.isHead)
      }
    }),
  )
})
