// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what people write
import t from 'tap'
import { interpolateText, Variables } from '../../src/config/variables.js'

const ENV = { HOST: 'north.example', EMPTY: '', NESTED: '${HOST}', lower_1: 'x' }

function fill(text: string): ReturnType<typeof interpolateText> {
  return interpolateText(text, new Variables(ENV))
}

t.test('a variable takes the place of its name', async t => {
  t.same(fill('https://${HOST}/v1'), { text: 'https://north.example/v1' })
  t.same(fill('${HOST}${HOST}'), { text: 'north.examplenorth.example' })
  t.same(fill('${lower_1}'), { text: 'x' })
})

t.test('a default counts where the variable is unset or empty', async t => {
  t.same(fill('${ABSENT:-8080}'), { text: '8080' })
  t.same(fill('${EMPTY:-8080}'), { text: '8080' })
  t.same(fill('${HOST:-8080}'), { text: 'north.example' })
  t.same(fill('[${ABSENT:-}]'), { text: '[]' })
})

t.test('a variable that is set and empty is empty, but must not leave the whole text empty', async t => {
  t.same(fill('[${EMPTY}]'), { text: '[]' })
  t.match(fill('${EMPTY}'), { empty: 'EMPTY' })
  t.match(fill('${EMPTY}${ABSENT:-}'), { empty: 'EMPTY' })
  t.same(fill('${ABSENT:-}${EMPTY:-}'), { text: '' })
})

t.test('a variable that is not set and has no default is named', async t => {
  t.match(fill('https://${ABSENT}'), { unset: 'ABSENT' })
})

t.test('$${ is a literal ${', async t => {
  t.same(fill('$${HOST} is ${HOST}'), { text: '${HOST} is north.example' })
  t.same(fill('$$${HOST}'), { text: '$${HOST}' })
})

t.test('what a variable holds is not looked at again', async t => {
  t.same(fill('${NESTED}'), { text: '${HOST}' })
})

t.test('a $ without a brace is a $', async t => {
  t.same(fill('$HOST costs 5$'), { text: '$HOST costs 5$' })
})

t.test('names of other forms are refused', async t => {
  for (const text of ['${}', '${A-B}', '${1A}', '${HOST', '${HOST:default}', '${ HOST }'])
    t.match(fill(text), { malformed: '${' }, text)
})

t.test('names of Object.prototype are not variables', async t => {
  t.match(fill('${constructor}'), { unset: 'constructor' })
  t.match(fill('${__proto__}'), { unset: '__proto__' })
})

t.test('what was asked for is remembered, set or not', async t => {
  const variables = new Variables(ENV)
  interpolateText('${HOST} ${ABSENT:-x}', variables)
  t.same(variables.used, [
    ['ABSENT', undefined],
    ['HOST', 'north.example'],
  ])
})
