import type { JsonObject } from '../core/json.js'
import { type AdminRoute, objectOf, type Schema, TEXT } from './route.js'

const ERROR: Schema = objectOf({ error: objectOf({ type: TEXT, message: TEXT }, ['type', 'message']) }, ['error'])
const FAILURE = {
  description: 'What went wrong.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

/** The OpenAPI 3.1 document of a table of routes. */
export function openApiOf(table: readonly AdminRoute[], version: string): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const route of table) {
    const path = paths[route.path] ?? {}
    paths[route.path] = path
    path[route.method.toLowerCase()] = operationOf(route)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Admin API of the gateway', version },
    security: [{ admin: [] }],
    paths,
    components: {
      securitySchemes: { admin: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ERROR },
    },
  }
}

function operationOf({
  method,
  path,
  summary,
  query = {},
  body,
  status,
  answer,
  isText,
  stream,
}: AdminRoute): JsonObject {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    ...{ name, in: 'path', required: true },
    schema: TEXT,
  }))
  const inQuery = Object.entries(query).map(([name, schema]) => ({ name, in: 'query', required: false, schema }))
  const parameters = [...inPath, ...inQuery]
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[/{}.]+(\w?)/g, (_, first: string) => first.toUpperCase())}`,
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: body.required !== undefined, content: { 'application/json': { schema: body } } } }),
    responses: {
      [status]: {
        description: summary,
        content: { [stream ?? (isText ? 'text/plain' : 'application/json')]: { schema: answer } },
      },
      default: FAILURE,
    },
  }
}
