import t from 'tap'
import { nameInUrl } from '../../../src/features/resources/urls.js'

const HOSTS = new Set(['up.example'])
const name = (text: string): string | undefined => nameInUrl(text, 'files/', HOSTS)

t.test('a name stands for itself', async t => {
  t.equal(name('files/abc'), 'files/abc')
  t.equal(name('/files/abc'), 'files/abc')
  t.equal(name(' files/abc '), 'files/abc')
})

t.test('an address of the interface leads to its name, at any host and in any spelling', async t => {
  for (const url of [
    'https://up.example/v1beta/files/abc',
    'https://UP.EXAMPLE:443/v1beta/files/abc',
    'https://up.example/v1beta/files/abc?alt=media#x',
    'https://up.example/upload/v1beta/files/abc',
    'https://up.example/v1beta/x/../files/abc',
    'https://up.example/v1beta/%66iles/abc',
    'https://up.example//v1beta//files//abc',
    'https://up.example/v1alpha/files/abc',
    'https://other.example/v1beta/files/abc',
    'http://up.example/v1/files/abc',
  ]) {
    t.equal(name(url), 'files/abc', url)
  }
})

t.test('any other address at an upstream’s host is given unchanged, and has no owner', async t => {
  for (const url of [
    'https://up.example/files/abc',
    'https://up.example./x',
    'https://u:p@up.example/',
    'https://up.example/%ff',
  ]) {
    t.equal(name(url), url)
  }
})

t.test('addresses of something else are not names', async t => {
  for (const url of ['https://video.example/watch?v=abc', 'gs://bucket/files/abc', 'https://other.example/files/abc']) {
    t.equal(name(url), undefined, url)
  }
})
