import { openApiOf } from '../openapi.js'
import { type AdminRoute, objectOf, TEXT } from '../route.js'

/** Version of the API: a path or member that goes away or changes its meaning makes a new one. */
const VERSION = '1'

/** The document describes itself, too. */
export function openApi(others: readonly AdminRoute[]): AdminRoute {
  const own: AdminRoute = {
    method: 'GET',
    path: '/admin/openapi.json',
    summary: 'This API as an OpenAPI 3.1 document.',
    status: 200,
    answer: objectOf({ openapi: TEXT }),
    handle: async () => openApiOf([...others, own], VERSION),
  }
  return own
}
