import t from 'tap'
import { Problems } from '../../src/plan/problems.js'
import { Schemas } from '../../src/plan/schemas.js'

t.test('a schema is compiled once, however many routes use it', async t => {
  let times = 0
  const compile = () => {
    times++
    return () => []
  }
  const schemas = new Schemas({ s: {} }, compile, new Problems())
  t.equal(schemas.validator('s', 'POST /a'), schemas.validator('s', 'POST /b'))
  t.equal(times, 1)
})

t.test('a schema that is not one is reported at every route that uses it', async t => {
  const problems = new Problems()
  const compile = () => {
    throw new Error('type "strng" is unknown')
  }
  const schemas = new Schemas({ s: {} }, compile, problems)
  t.equal(schemas.validator('s', 'POST /a'), undefined)
  t.equal(schemas.validator('s', 'POST /b'), undefined)
  t.same(problems.found[0], {
    path: 'routes["POST /a"].schema',
    rule: 'bad-schema',
    severity: 'error',
    message: 'the schema "s" cannot be used: type "strng" is unknown',
  })
  t.equal(problems.found.length, 2)
})

t.test('a name of a built-in is not a schema', async t => {
  const problems = new Problems()
  new Schemas({}, () => () => [], problems).validator('constructor', 'POST /a')
  t.match(problems.found, [{ message: 'the schema "constructor" cannot be used: no schema has that name' }])
})
