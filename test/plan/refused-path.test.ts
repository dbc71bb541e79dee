import t from 'tap'
import { isRefused } from '../../src/plan/refused-path.js'

const REFUSED = [
  ...['', 'v1/models', '*', 'http://x/v1', '/a#b', '/a b', '/a\\b', '/\x00', '/\x7f', '/ü'],
  ...['/%', '/%4', '/%zz', '/%u002e', '/%c0%ae', '/%ff', '/%ed%a0%80', '/%f5%80%80%80'],
  ...['/a%00', '/a%0a', '/a%0d%0a', '/a%7f', '/a%c2%85', '/a%5cb', '/a%5C..%5Cb'],
  ...['/.', '/..', '/a/./b', '/a/../b', '/a/..', '/%2e', '/%2e%2e', '/%2E.', '/.%2e/a', '/a%2f..%2fb', '/a%2F..'],
  ...['/..;/a', '/..;x=1/a', '/.;/a', '/%2e%2e%3b/a', '/a/..%2f'],
]

const SOUND = [
  ...[
    '/',
    '/v1/models',
    '/v1//models',
    '/v1/models/',
    '/a.b',
    '/...',
    '/..a',
    '/a..',
    '/.well-known/x',
    '/a;b',
    '/a:b',
  ],
  ...['/a%2fb', '/a%2Fb', '/%252e%252e', '/%25', '/a%20b', '/%E6%A8%A1', '/gpt-4%2e1', '/a%ef%bc%8e', '/{x}', '/%7e'],
]

for (const path of REFUSED) {
  const shown = JSON.stringify(path).replace('\x7f', '\\u007f')
  t.test(`F-C14 ${shown} is refused`, async t => t.equal(isRefused(path), true))
}

for (const path of SOUND) t.test(`${path} is not refused`, async t => t.equal(isRefused(path), false))

t.test('F-C12 paths of 1 MiB take one pass', async t => {
  const mebibyte = 1 << 20
  t.equal(isRefused(`/${'a'.repeat(mebibyte)}`), false)
  t.equal(isRefused(`/${'./.'.repeat(mebibyte / 4)}/..`), true)
  t.equal(isRefused(`/${'..;'.repeat(mebibyte / 4)}\x00`), true)
  t.equal(isRefused(`/${'%2e'.repeat(mebibyte / 4)}`), false)
})
