import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { endpoint } from '../../protocol.js'

/** `WS /v1/realtime`: without a WebSocket, it answers 426. */
export const realtime = endpoint(compatible, 'GET /v1/realtime', { models: ['sim-realtime'] }, () => {
  throw new SimulatorError(426, 'This endpoint is a WebSocket: ask for an upgrade.', {
    type: 'invalid_request_error',
    headers: { upgrade: 'websocket', connection: 'Upgrade' },
  })
})
