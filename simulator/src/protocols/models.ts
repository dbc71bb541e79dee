import { compatible } from '../families/compatible.js'
import { json, type Protocol } from '../protocol.js'
import { EPOCH_SECONDS } from '../seed.js'

/** `GET /v1/models`. */
export const modelList: Protocol = {
  method: 'GET',
  path: '/v1/models',
  body: 'none',
  family: compatible,
  models: [],
  answer: ({ models }) => json({ object: 'list', data: models.map(model) }),
}

/** `GET /v1/models/{id}`. */
export const modelById: Protocol = {
  method: 'GET',
  path: '/v1/models/{id}',
  body: 'none',
  family: compatible,
  models: [],
  answer: ({ parameter: id }) => json(model(id)),
}

function model(id: string): object {
  return { id, object: 'model', created: EPOCH_SECONDS, owned_by: 'simulator' }
}
