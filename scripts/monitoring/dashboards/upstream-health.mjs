import { line, variable } from '../panels.mjs'
import { p, share, UPSTREAM } from '../queries.mjs'

export const upstreams = {
  uid: 'model-gateway-upstreams',
  title: 'Model gateway: health of upstreams',
  description: 'Which upstreams fail, rest or are slow, and where requests wait for them.',
  variables: [variable('upstream', 'gateway_upstream_breaker_state', 'upstream', 'Upstream')],
  rows: [
    {
      title: 'Health',
      panels: [
        line(
          'Breakers',
          '0: asked as declared. 1: one request is to show whether it works again. 2: asked last.',
          'short',
          [[`max by (upstream) (gateway_upstream_breaker_state{@${UPSTREAM}})`, '{{upstream}}']],
        ),
        line('Models and secrets at rest', 'Parts of upstreams that are asked last because they fail.', 'short', [
          [`max by (upstream, part) (gateway_upstream_breaker_parts_open{@${UPSTREAM}})`, '{{upstream}}: {{part}}'],
        ]),
        line('Changes of breakers', 'How often something of an upstream began to be asked last, or ceased to.', 'ops', [
          [
            `sum by (upstream, state) (rate(gateway_upstream_breaker_changes_total{@${UPSTREAM}}[@]))`,
            '{{upstream}}: {{state}}',
          ],
        ]),
      ],
    },
    {
      title: 'Attempts',
      panels: [
        line('Attempts by outcome', 'Attempts each second: ok, status, or the phase in which they failed.', 'ops', [
          [`sum by (outcome) (rate(gateway_upstream_attempts_total{@${UPSTREAM}}[@]))`, '{{outcome}}'],
        ]),
        line(
          'Failures by upstream',
          'Share of attempts that failed. Those that were skipped or cancelled are not counted.',
          'percentunit',
          [
            [
              share(
                'gateway_upstream_attempts_total',
                'upstream',
                `${UPSTREAM},outcome!~"ok|skipped|cancelled"`,
                `${UPSTREAM},outcome!~"skipped|cancelled"`,
              ),
              '{{upstream}}',
            ],
          ],
          { max: 1 },
        ),
        line('Errors by upstream', 'Attempts each second that ended with an error, by its code.', 'ops', [
          [
            `sum by (upstream, error_type) (rate(gen_ai_client_operation_duration_seconds_count{@${UPSTREAM},error_type!=""}[@]))`,
            '{{upstream}}: {{error_type}}',
          ],
        ]),
        line('Statuses', 'Answers of upstreams each second, by their status.', 'ops', [
          [
            `sum by (upstream, http_response_status_code) (rate(http_client_request_duration_seconds_count{@${UPSTREAM}}[@]))`,
            '{{upstream}}: {{http_response_status_code}}',
          ],
        ]),
        line('Duration of requests to upstreams, p95', 'From sending a request to the end of its answer.', 's', [
          [p(0.95, 'http_client_request_duration_seconds', ['upstream'], UPSTREAM), '{{upstream}}'],
        ]),
        line('Time to first content, p95', 'From sending a request to the first content of its answer.', 's', [
          [p(0.95, 'gen_ai_server_time_to_first_token_seconds', ['upstream'], UPSTREAM), '{{upstream}}'],
        ]),
      ],
    },
    {
      title: 'Connections',
      panels: [
        line('Connections in use', 'Connections to the upstream that have a request.', 'short', [
          [`sum by (upstream) (gateway_upstream_pool_in_use{@${UPSTREAM}})`, '{{upstream}}'],
        ]),
        line(
          'Requests that wait',
          'Requests that wait for a free place among the connections to the upstream.',
          'short',
          [[`sum by (upstream) (gateway_upstream_pool_waiting{@${UPSTREAM}})`, '{{upstream}}']],
        ),
        line('Wait for a place, p95', 'Only of requests that waited.', 's', [
          [p(0.95, 'gateway_upstream_queue_duration_seconds', ['upstream'], UPSTREAM), '{{upstream}}'],
        ]),
        line('Time to connect, p95', 'Until a connection is ready to send: near zero where one was open.', 's', [
          [p(0.95, 'gateway_upstream_connect_duration_seconds', ['upstream'], UPSTREAM), '{{upstream}}'],
        ]),
      ],
    },
  ],
}
