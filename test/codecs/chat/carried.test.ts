import t from 'tap'
import type { JsonObject } from '../../../src/core/json.js'
import { PROTOCOLS } from '../../helpers/text-clients.js'
import { refused, translated } from '../translated.js'

// What of clients' requests reaches an upstream that speaks chat, and what of it is said not to.

const ASK = [{ role: 'user', content: 'hi' }]

t.test('settings of a web search that have no place are named', async t => {
  const search = (more: JsonObject) =>
    translated('responses', 'chat', { model: 'm', input: 'hi', tools: [{ type: 'web_search', ...more }] })
  t.match(search({ user_location: { type: 'approximate', country: 'DE', city: null }, search_context_size: 'low' }), {
    body: {
      web_search_options: {
        search_context_size: 'low',
        user_location: { type: 'approximate', approximate: { country: 'DE' } },
      },
    },
    dropped: [],
  })
  t.same(search({ filters: { allowed_domains: ['a.example'] } }).dropped, ['tools[0]'])
  t.same(search({ filters: { allowed_domains: [] }, external_web_access: true }).dropped, [])
  const native = (googleSearch: JsonObject) =>
    translated('generate', 'chat', { contents: [{ parts: [{ text: 'hi' }] }], tools: [{ googleSearch }] })
  t.same(native({}).dropped, [])
  t.same(native({ timeRangeFilter: { startTime: 'x' } }).dropped, ['tools[0].googleSearch'])
})

t.test('servers of tools are left out by name, as other tools at the upstream are', async t => {
  const mcp_servers = [{ type: 'url', url: 'https://a.example', name: 'n' }]
  for (const protocol of PROTOCOLS.filter(one => one !== 'messages')) {
    const body = { model: 'm', max_tokens: 9, messages: ASK }
    t.equal(refused('messages', protocol, { ...body, mcp_servers }), undefined, protocol)
    t.equal(refused('messages', protocol, { ...body, mcp_servers: [] }), undefined, protocol)
  }
})

t.test('a prompt that is cached at one upstream is refused by name', async t => {
  for (const protocol of PROTOCOLS.filter(one => one !== 'generate')) {
    for (const name of ['cachedContent', 'cached_content']) {
      const body = { contents: [{ parts: [{ text: 'hi' }] }], [name]: 'cachedContents/1' }
      t.equal(refused('generate', protocol, body), 'cachedContent', protocol)
    }
  }
})
