from sdcgate.servers.state_folder import spill_folder


def test_each_process_spills_into_a_folder_of_its_own(tmp_path):
    with spill_folder(tmp_path / "spill") as one, spill_folder(tmp_path / "spill") as other:
        assert one != other
        assert one.stat().st_mode & 0o777 == 0o700
        (one / "duckdb_temp_1_0_owner").touch()
        assert not (other / "duckdb_temp_1_0_owner").exists()


def test_what_was_spilled_is_gone_at_the_end(tmp_path):
    with spill_folder(tmp_path / "spill") as own:
        (own / "rows").touch()
    assert [path.name for path in (tmp_path / "spill").iterdir()] == ["lock"]


def test_what_a_killed_process_left_is_removed_and_what_others_use_is_not(tmp_path):
    abandoned = tmp_path / "spill" / "of-somebody"
    abandoned.mkdir(parents=True)
    (abandoned / "lock").touch()
    (abandoned / "rows").touch()
    with spill_folder(tmp_path / "spill") as one:
        assert not abandoned.exists()
        (one / "rows").touch()
        with spill_folder(tmp_path / "spill"):
            assert (one / "rows").exists()
