import { BlockList, isIPv4 } from 'node:net'
import t from 'tap'
import { notPublic, parseAddress, parseNetwork, within } from '../../src/net/addresses.js'
import { fc } from '../helpers/property.js'

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '198.17.255.255',
  '223.255.255.255',
  '2606:4700::1111',
  '2001:4860:4860::8888',
  '2a00::1',
  '2003::1',
  '2400:cb00::',
]
const KINDS = {
  '0.0.0.0': 'this network',
  '127.0.0.2': 'loopback',
  '169.254.169.254': 'link-local',
  '100.64.0.0': 'shared',
  '::': 'unspecified',
  '::1': 'loopback',
  '::ffff:1.1.1.1': 'mapped',
  '64:ff9b::1.1.1.1': 'translated',
  '2002:101:101::': '6to4',
  '2001::': 'protocol',
  'fe80::1': 'link-local',
  'fd12::1': 'unique local',
  'ff02::fb': 'multicast',
  '4000::': 'reserved',
}

t.test('public addresses are public', async t => {
  for (const text of PUBLIC) t.equal(notPublic(parseAddress(text)!), undefined, text)
})

t.test('all other addresses are named by their kind', async t => {
  for (const [text, kind] of Object.entries(KINDS)) t.equal(notPublic(parseAddress(text)!), kind, text)
})

t.test('networks: their first and their last address are in, their neighbours are out', async t => {
  const network = parseNetwork('10.1.0.0/16')!
  const inside = (text: string): boolean => within(parseAddress(text)!, network)
  t.same(['10.0.255.255', '10.1.0.0', '10.1.255.255', '10.2.0.0', '::10.1.0.0'].map(inside), [
    false,
    true,
    true,
    false,
    false,
  ])
})

t.test('text that is not a network is rejected', async t => {
  for (const text of ['10.0.0.0/33', '::/129', '10.0.0', 'example.com', '10.0.0.0/', '', '1.2.3.4/8/8', 'fe80::1%1'])
    t.equal(parseNetwork(text), undefined, text)
})

t.test('addresses and networks are read as node:net reads them', async t => {
  const v4 = fc.ipV4()
  const v6 = fc.ipV6()
  fc.assert(
    fc.property(fc.oneof(v4, v6), fc.oneof(v4, v6), fc.integer({ min: 0, max: 128 }), (one, other, prefix) => {
      if (isIPv4(one) !== isIPv4(other)) return
      const kind = isIPv4(one) ? 'ipv4' : 'ipv6'
      const length = kind === 'ipv4' ? prefix % 33 : prefix
      const list = new BlockList()
      list.addSubnet(other, length, kind)
      t.equal(
        within(parseAddress(one)!, parseNetwork(`${other}/${length}`)!),
        list.check(one, kind),
        `${one} in ${other}/${length}`,
      )
    }),
  )
})
