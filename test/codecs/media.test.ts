import t from 'tap'
import { parseDataUrl } from '../../src/codecs/media.js'

t.test('data URLs may have blanks around their parameters', async t => {
  for (const head of [
    'data:audio/webm;codecs=opus;base64,',
    'data:audio/webm; codecs=opus;base64,',
    'data:audio/webm ;\tcodecs=opus ; base64 ,',
    'data:Audio/WebM;codecs=opus;BASE64,',
  ]) {
    t.strictSame(parseDataUrl(`${head}AAAA`), { mime: 'audio/webm', base64: 'AAAA' }, head)
  }
  t.strictSame(parseDataUrl('data:text/plain; charset=utf-8,a%20b'), { mime: 'text/plain', base64: 'YSBi' })
})

t.test('what is not a data URL, or has a head of more than 512 characters, is not one', async t => {
  for (const url of ['https://x/a,b', 'data:image/png', 'data: image/png,x', `data:image/png;a=${'b'.repeat(512)},x`]) {
    t.equal(parseDataUrl(url), undefined)
  }
})

t.test('a head of blanks and semicolons is read once', async t => {
  // Blanks that two places of the expression could take would take longer than the universe has.
  t.equal(parseDataUrl(`data:${'; '.repeat(253)}`), undefined)
  t.equal(parseDataUrl(`data:image/png${';base64 '.repeat(60)}`), undefined)
})
