{{/* Volumes of a service's pod: (list $ "risk"). */}}
{{- define "sdcgate.volumes" -}}
{{- $root := first . }}
{{- $name := index . 1 }}
{{- $service := get $root.Values $name -}}
- name: tmp
  emptyDir: {sizeLimit: {{ $service.tmpSize }}}
{{- if ne $root.Values.tls.mode "mesh" }}
- name: tls
  secret: {secretName: {{ include "sdcgate.tlsSecret" (list $root $name) }}, defaultMode: 0440}
{{- end }}
{{- if ne $name "gateway" }}
- name: service-token
  secret:
    secretName: {{ include "sdcgate.tokenSecret" $root }}
    defaultMode: 0440
    items: [{key: {{ $root.Values.serviceToken.key }}, path: token}]
{{- end }}
{{- if eq $name "facility" }}
{{- include "sdcgate.facilityVolumes" $root }}
{{- else }}
- name: state
  emptyDir: {sizeLimit: 16Mi}
{{- end }}
{{- with $service.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sdcgate.facilityVolumes" }}
- name: state
  persistentVolumeClaim: {claimName: {{ include "sdcgate.stateClaim" . }}}
- name: spill
  emptyDir: {sizeLimit: {{ .Values.facility.spillSize }}}
{{- with .Values.snapshots.existingClaim }}
- name: snapshots
  persistentVolumeClaim: {claimName: {{ . }}}
{{- end }}
{{- with .Values.data.existingClaim }}
- name: data
  persistentVolumeClaim: {claimName: {{ . }}, readOnly: true}
{{- end }}
{{- if .Values.policies }}
- name: policies
  configMap: {name: {{ include "sdcgate.fullname" . }}-policies}
{{- end }}
{{- if eq .Values.ledger.database "postgresql" }}
{{ include "sdcgate.ledgerVolumes" . }}
{{- end }}
{{- end }}

{{- define "sdcgate.ledgerVolumes" -}}
- name: ledger
  secret:
    secretName: {{ .Values.ledger.postgresql.existingSecret }}
    defaultMode: 0440
    items: [{key: {{ .Values.ledger.postgresql.key }}, path: sdcgate_ledger_url}]
{{- with .Values.ledger.postgresql }}
{{- if .caSecret }}
- name: ledger-ca
  secret: {secretName: {{ .caSecret }}, defaultMode: 0440, items: [{key: {{ .caKey }}, path: ca.crt}]}
{{- end }}
{{- end }}
{{- end }}

{{- define "sdcgate.ledgerMounts" -}}
- {name: ledger, mountPath: /etc/sdcgate/ledger, readOnly: true}
{{- if .Values.ledger.postgresql.caSecret }}
- {name: ledger-ca, mountPath: /etc/sdcgate/ledger-ca, readOnly: true}
{{- end }}
{{- end }}

{{/* Where they are mounted: (list $ "risk"). */}}
{{- define "sdcgate.mounts" -}}
{{- $root := first . }}
{{- $name := index . 1 -}}
- {name: tmp, mountPath: /tmp}
- {name: state, mountPath: /var/lib/sdcgate}
{{- if ne $root.Values.tls.mode "mesh" }}
- {name: tls, mountPath: /etc/sdcgate/tls, readOnly: true}
{{- end }}
{{- if ne $name "gateway" }}
- {name: service-token, mountPath: /etc/sdcgate/service-token, readOnly: true}
{{- end }}
{{- if eq $name "facility" }}
- {name: spill, mountPath: /var/spill}
{{- if $root.Values.snapshots.existingClaim }}
- {name: snapshots, mountPath: /var/lib/sdcgate/snapshots}
{{- end }}
{{- if $root.Values.data.existingClaim }}
- {name: data, mountPath: /srv/sdcgate/data, readOnly: true}
{{- end }}
{{- if $root.Values.policies }}
- {name: policies, mountPath: /etc/sdcgate/policies, readOnly: true}
{{- end }}
{{- if eq $root.Values.ledger.database "postgresql" }}
{{ include "sdcgate.ledgerMounts" $root }}
{{- end }}
{{- end }}
{{- with (get $root.Values $name).extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}
