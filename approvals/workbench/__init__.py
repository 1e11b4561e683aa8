"""The auditor's workbench: questions to the record, counts, samples, findings. It writes only beside the trail."""
