import { type AdminRoute, TEXT } from '../route.js'

export const metrics: AdminRoute = {
  method: 'GET',
  path: '/metrics',
  summary:
    'What the gateway counts and times, as text for Prometheus, or as OpenMetrics where the Accept header asks for it.',
  status: 200,
  answer: TEXT,
  isText: true,
  isOpen: ({ plan }) => plan.admin?.metrics?.open === true,
  handle: ({ accept }, host) => host.metrics(accept),
}
