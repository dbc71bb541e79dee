import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isObject, type JsonObject } from '../../src/core/json.js'
import { packageRoot } from '../../src/core/package-root.js'

const NAMES = ['gateway.schema.json', 'routes.schema.json', 'kind.schema.json']

function read(name: string): JsonObject {
  return JSON.parse(readFileSync(join(packageRoot(), 'schemas', name), 'utf8'))
}

/** Every schema of a property or of the entries of a map or list, with its path. */
function* described(schema: unknown, path: string): Generator<readonly [string, unknown]> {
  if (Array.isArray(schema)) for (const [index, item] of schema.entries()) yield* described(item, `${path}/${index}`)
  if (!isObject(schema)) return
  for (const [keyword, value] of Object.entries(schema)) {
    const inner = `${path}/${keyword}`
    if ((keyword === 'properties' || keyword === 'definitions') && isObject(value)) {
      for (const [name, property] of Object.entries(value)) {
        // Properties below `if` and those that a `then` merely names describe nothing of their own.
        if (!/\/if$/.test(path) && !(isObject(property) && Object.keys(property).length === 0))
          yield [`${inner}/${name}`, property]
        yield* described(property, `${inner}/${name}`)
      }
    } else if (keyword === 'items' || (keyword === 'additionalProperties' && isObject(value))) {
      yield [inner, value]
      yield* described(value, inner)
    } else if (keyword !== 'default' && keyword !== 'enum') {
      yield* described(value, inner)
    }
  }
}

for (const name of NAMES) {
  const schema = read(name)

  t.test(`${name} is draft-07 and says what it is for`, async t => {
    t.equal(schema.$schema, 'http://json-schema.org/draft-07/schema#')
    t.type(schema.description, 'string')
  })

  t.test(`every property of ${name} has a description of its own`, async t => {
    const mute = [...described(schema, '#')].filter(
      ([, property]) => !isObject(property) || typeof property.description !== 'string',
    )
    t.same(
      mute.map(([path]) => path),
      [],
    )
  })

  t.test(`every object of ${name} is closed: it accepts no unknown key`, async t => {
    const open: string[] = []
    const visit = (value: unknown, path: string): void => {
      if (Array.isArray(value)) for (const [index, item] of value.entries()) visit(item, `${path}/${index}`)
      if (!isObject(value)) return
      const inCondition = /\/(?:if|then)$/.test(path)
      if (isObject(value.properties) && value.additionalProperties === undefined && !inCondition) open.push(path)
      for (const [key, inner] of Object.entries(value)) visit(inner, `${path}/${key}`)
    }
    visit(schema, '#')
    // Placements close in the branch that `in` chooses.
    t.same(open, name === 'gateway.schema.json' ? ['#/definitions/placement', '#/definitions/credential/else'] : [])
  })
}

t.test('what is generated from the schemas is not stale', async t => {
  t.doesNotThrow(() =>
    execFileSync(process.execPath, [join(packageRoot(), 'scripts/generate.mjs'), '--check'], { stdio: 'pipe' }),
  )
})

t.test('every pattern of the language says in words what is expected', async t => {
  t.same(
    mute(read('gateway.schema.json'), ''),
    [],
    'or a person reads that a value does not have the form that is expected',
  )
})

/** Places of patterns without words of their own; the branches of a choice are reported by the choice. */
function mute(node: unknown, place: string): readonly string[] {
  if (typeof node !== 'object' || node === null) return []
  const { pattern, patternErrorMessage, errorMessage } = node as Record<string, unknown>
  const own = typeof pattern === 'string' && (patternErrorMessage ?? errorMessage) === undefined ? [place] : []
  const inner = Object.entries(node).filter(([name]) => name !== 'anyOf')
  return [...own, ...inner.flatMap(([name, value]) => mute(value, `${place}/${name}`))]
}
