import t from 'tap'
import { addressOf, Blocked, MediaGuard, type MediaRules } from '../../src/net/media-url.js'
import { SSRF_URLS } from './ssrf-urls.js'

const PORT = 8443

function guard(rules: Partial<MediaRules>): MediaGuard {
  return new MediaGuard({ allow: ['*'], http: true, ports: [80, 443, PORT], ...rules })
}

/** Why a URL, whose host has these addresses, is refused; undefined where it is not. */
function why(rules: Partial<MediaRules>, url: string, addresses: readonly string[] = ['1.1.1.1']): string | undefined {
  try {
    const checked = guard(rules)
    const parsed = checked.url(url)
    const own = parsed.hostname.replace(/[[\]]/g, '')
    checked.addresses(parsed, addressOf(parsed) === undefined ? addresses : [own])
    return undefined
  } catch (error) {
    if (error instanceof Blocked) return error.message
    throw error
  }
}

t.test('no spelling of an inner address is let through', async t => {
  t.ok(SSRF_URLS.length >= 150, `${SSRF_URLS.length} URLs`)
  for (const spell of SSRF_URLS) t.type(why({}, spell(PORT)), 'string', spell(PORT).slice(0, 80))
})

t.test('honest URLs are let through', async t => {
  for (const url of [
    'https://media.example.com/a.png?b=c#d',
    'http://1.1.1.1/',
    'https://[2606:4700::1111]/',
    'https://bücher.example/',
    'https://media.example.com./',
  ])
    t.equal(why({}, url), undefined, url)
})

t.test('a list of names: those, and nothing else', async t => {
  const rules = { allow: ['media.example.com', '*.cdn.example.net'] }
  t.equal(why(rules, 'https://media.example.com/a'), undefined)
  t.equal(why(rules, 'https://MEDIA.example.com./a'), undefined, 'the case and the last dot are nothing')
  t.equal(why(rules, 'https://a.b.cdn.example.net/a'), undefined)
  for (const host of [
    'example.com',
    'cdn.example.net',
    'evilcdn.example.net',
    'media.example.com.evil.net',
    'xmedia.example.com',
    '1.1.1.1',
  ])
    t.equal(why(rules, `https://${host}/a`), 'not in the list', host)
})

t.test('a name in the list does not make its inner addresses public', async t => {
  t.equal(why({ allow: ['media.example.com'] }, 'https://media.example.com/', ['10.0.0.1']), 'private address')
  t.equal(
    why({}, 'https://media.example.com/', ['1.1.1.1', '127.0.0.1']),
    'loopback address',
    'all addresses have to be sound',
  )
  t.equal(why({}, 'https://media.example.com/', []), 'no address')
  t.equal(why({}, 'https://media.example.com/', ['nonsense']), 'unreadable address')
})

t.test('a listed network allows its hosts, by address and by name', async t => {
  const rules = { allow: ['127.0.0.2', '10.1.0.0/16', 'fd00::/64'] }
  for (const host of ['127.0.0.2', '10.1.2.3', '[fd00::7]', '0x7f.0.0.2'])
    t.equal(why(rules, `https://${host}/`), undefined, host)
  t.equal(why(rules, 'https://inside.example.com/', ['10.1.2.3']), undefined)
  t.equal(why(rules, 'https://127.0.0.3/'), 'loopback address')
  t.equal(why(rules, 'https://inside.example.com/', ['10.2.0.1']), 'private address')
  t.equal(why(rules, 'https://1.1.1.1/'), 'not in the list')
})

t.test('an inner name can be allowed by itself; its addresses still have to be', async t => {
  t.equal(why({ allow: ['minio', '10.0.0.0/8'] }, 'https://minio/', ['10.0.0.1']), undefined)
  t.equal(why({ allow: ['minio'] }, 'https://minio/', ['10.0.0.1']), 'private address')
})

t.test('nothing is allowed by an empty list', async t => {
  t.equal(why({ allow: [] }, 'https://media.example.com/'), 'not in the list')
  t.equal(why({ allow: [] }, 'https://1.1.1.1/'), 'not in the list')
})

t.test('schemes and ports', async t => {
  t.equal(why({ http: false }, 'http://media.example.com/'), 'scheme http:')
  t.equal(why({ ports: [443] }, 'https://media.example.com:444/'), 'port 444')
  t.equal(why({}, 'https://media.example.com:443/'), undefined)
})
